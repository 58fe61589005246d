// During an upgrade, processes of the previous version run on the migrated database. So a migration only adds: what the
// previous version reads must stay, and what it does not write must not be required.

/** The baseline ran before there was a previous version. No other migration may be added here. */
export const exemptMigrations = ['0001_baseline'];

/** The checksums of the migrations on `main`. Only add lines: a database on which a migration ran does not accept another text. */
export const checksums: Record<string, string> = {
  '0001_baseline': '09cb9234c2526c42',
  '0002_fair_use': '840db78964fdd705',
  '0003_shares_and_caps': 'd8cbad8382b8629b',
  '0004_function_privileges': 'f093367e5823ad4c',
  '0005_one_data_layer': '475f922e4b1a4da7',
  '0006_count_rows_faster': '55a7f348bc210abe',
  '0007_suspended_users': 'a90b8523fea91d0b',
  '0008_cancel_alerts': '21858a4e60718845',
  '0009_monitor_options': '79513df78959bca6',
  '0010_bounded_work': 'f48abd99f1ce4ec4',
  '0011_alert_events': '7740e1c89f7e6131',
  '0012_incidents_and_names': '1011626489331a09',
  '0013_deliveries': 'f9262a4e773978fb',
  '0014_delays_and_reminders': 'c14317ac6a48bb0f',
  '0015_confirmed_recipients': '73c7423771146351',
  '0016_delivered_before': '774ba9cdbc788045',
  '0017_repeated_alerts': '2a4de583fd6de567',
  '0018_statistics': 'c37a0c0a9ebab362',
};

/** A migration that begins with this line drops what no supported version uses any more. */
const unusedMarker = /^-- unused since \d+\.\d+\.\d+\b/;

interface Rule {
  violation: string;
  isViolatedBy(sql: string): boolean;
}

/** Rules for whole statements, including those in function bodies. */
const statementRules: Rule[] = [
  {
    violation: 'drops an object',
    isViolatedBy: (sql) => /\bdrop (table|column|function|procedure|(materialized )?view|sequence|type|schema|role)\b/i.test(sql),
  },
  { violation: 'renames an object', isViolatedBy: (sql) => /\brename\b/i.test(sql) },
  { violation: 'changes the type of a column', isViolatedBy: (sql) => /\balter (column )?\w+ (set data )?type\b/i.test(sql) },
  { violation: 'makes a column required', isViolatedBy: (sql) => /\bset not null\b/i.test(sql) },
];

/** Rules for the single actions of ALTER TABLE, in which the word COLUMN is optional. */
const actionRules: Rule[] = [
  { violation: 'drops a column', isViolatedBy: (action) => /^drop (?!column\b|constraint\b)/i.test(action) },
  {
    violation: 'adds a required column without a default',
    isViolatedBy: (action) =>
      /^add (?!(constraint|check|unique|primary|foreign|exclude)\b)/i.test(action) &&
      /\bnot null\b/i.test(action) &&
      !/\b(default|generated)\b/i.test(action),
  },
];

/** Returns the statements of a migration that break a rule, each after the name of the violation. */
export function findViolations(name: string, text: string): string[] {
  if (exemptMigrations.includes(name) || unusedMarker.test(text)) return [];
  return statementsOf(text).flatMap((statement) => {
    const actions = actionsOf(statement);
    const broken = [
      ...statementRules.filter((rule) => rule.isViolatedBy(statement)),
      ...actionRules.filter((rule) => actions.some((action) => rule.isViolatedBy(action))),
    ];
    return broken.map(({ violation }) => `${violation}: ${statement}`);
  });
}

/** Splits at every semicolon, also in function bodies: the rules search for words and need no complete statements. */
function statementsOf(text: string): string[] {
  return text
    .replaceAll(/--.*$/gm, '')
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '');
}

/** Returns the actions of an ALTER TABLE statement, which are separated by commas outside of parentheses. */
function actionsOf(statement: string): string[] {
  const [, actions = ''] = /\balter table (?:if exists )?(?:only )?\S+ (.*)$/i.exec(statement) ?? [];
  return actions.split(/,(?![^()]*\))/).map((action) => action.trim());
}
