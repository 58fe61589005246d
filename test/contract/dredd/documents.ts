import type { Case } from './cases.ts';

/**
 * The contract as Dredd can read it. Dredd sees one example of each answer, so the cases are spread over several
 * documents: the first of each operation and status in the first, the second in the second. The title and the summary
 * lead back from a transaction to its case. Bodies are left out, because Dredd sends no forms; the hooks send them.
 */
export function documentsFor(cases: Case[]): string[] {
  return [...Map.groupBy(cases, documentOf)].map(([title, own]) => documentFor(title, own));
}

/** The title of the document that a case stands in. */
export function documentOf({ operation, index }: Case): string {
  return `${operation.api} ${index}`;
}

function documentFor(title: string, cases: Case[]): string {
  const paths: Record<string, Record<string, { responses: Record<string, object> }>> = {};
  for (const tried of cases) {
    const { id, method, path, parameters } = tried.operation;
    const name = method.toLowerCase();
    const inPath = parameters.filter((parameter) => parameter.in === 'path');
    const described = {
      summary: id,
      parameters: inPath,
      responses: { ...paths[path]?.[name]?.responses, [tried.status]: answerOf(tried) },
    };
    paths[path] = { ...paths[path], [name]: described };
  }
  return JSON.stringify({ openapi: '3.0.3', info: { title, version: '1' }, paths });
}

function answerOf({ operation, status, answer }: Case): object {
  const [[mediaType, { examples = {} }] = ['', {}]] = Object.entries(operation.responses[status]?.content ?? {});
  const example = answer?.value ?? Object.values(examples)[0]?.value;
  // This one stands for a fault anywhere, so Dredd must not look for the place that it names.
  const shown = answer?.name === 'validation_failed' ? { ...answer.value, errors: [{}] } : example;
  return { description: `${status}`, ...(mediaType && { content: { [mediaType]: { example: shown } } }) };
}
