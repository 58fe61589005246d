// During an upgrade, processes of the previous version run on the migrated database. So a migration only adds: what the
// previous version reads must stay, and what it does not write must not be required.

/** The baseline ran before there was a previous version. No other migration may be added here. */
export const exemptMigrations = ['0001_baseline'];

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
