import type { Case } from './cases.ts';

/**
 * Converts the contract into documents for Dredd. Dredd uses only one example per response, so the cases are spread over
 * several documents: the first case of each operation and status is in the first document, the second case in the second.
 * The title and the summary identify the case of a transaction. Request bodies are left out, because Dredd cannot send
 * forms. The hooks add them.
 */
export function documentsFor(cases: Case[]): string[] {
  return [...Map.groupBy(cases, documentOf)].map(([title, own]) => documentFor(title, own));
}

/** Returns the title of the document that contains the case. */
export function documentOf({ operation, index }: Case): string {
  return `${operation.api} ${index}`;
}

function documentFor(title: string, cases: Case[]): string {
  const paths: Record<string, Record<string, { responses: Record<string, object> }>> = {};
  for (const testCase of cases) {
    const { id, method, path, parameters } = testCase.operation;
    const name = method.toLowerCase();
    const definition = {
      summary: id,
      parameters: parameters.filter((parameter) => parameter.in === 'path'),
      responses: { ...paths[path]?.[name]?.responses, [testCase.status]: responseDefinition(testCase) },
    };
    paths[path] = { ...paths[path], [name]: definition };
  }
  return JSON.stringify({ openapi: '3.0.3', info: { title, version: '1' }, paths });
}

function responseDefinition({ operation, status, responseExample }: Case): object {
  const [[mediaType, { examples = {} }] = ['', {}]] = Object.entries(operation.responses[status]?.content ?? {});
  const example = responseExample?.value ?? Object.values(examples)[0]?.value;
  return { description: `${status}`, ...(mediaType && { content: { [mediaType]: { example } } }) };
}
