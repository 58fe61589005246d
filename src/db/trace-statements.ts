import { inSpan, isTraced } from '../telemetry/tracing.ts';

const system = { 'db.system.name': 'postgresql' };
/** There are only as many texts as statements in the code, because values are never part of a text. */
const summaries = new Map<string, string>();

/** Records statements that run in one round trip as a span, with their texts and without their values. */
export function traceStatements<T>(statements: readonly { text: string }[], run: () => Promise<T>): Promise<T> {
  if (!isTraced()) return run();
  const texts = statements.map(({ text }) => text);
  const summary = texts.map(summarize).join('; ');
  const attributes = {
    ...system,
    'db.query.summary': summary,
    'db.query.text': texts.join('; '),
    'db.operation.batch.size': texts.length > 1 ? texts.length : undefined,
  };
  return inSpan(summary, { kind: 'client', attributes }, run);
}

/** Includes the wait for a connection, BEGIN and COMMIT, and the statements of the ORM, which have no span of their own. */
export function traceTransaction<T>(run: () => Promise<T>): Promise<T> {
  return inSpan('transaction', { kind: 'client', attributes: system }, run);
}

/** The kind of a statement and its first table, such as `select monitors`. */
function summarize(text: string): string {
  let summary = summaries.get(text);
  if (summary === undefined) {
    const [kind = ''] = /^\w+/.exec(text) ?? [];
    const [, table] = /\b(?:from|into|update) "?(?!json_to_recordset)(\w+)/.exec(text) ?? [];
    summary = table ? `${kind} ${table}` : kind;
    summaries.set(text, summary);
  }
  return summary;
}
