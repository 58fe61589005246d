import { invalidInputOf } from './invalid-input.ts';
import type { Document } from './merge-documents.ts';
import { callerOf, examplePath, type Json, type Operation, operationsOf } from './operations.ts';

/**
 * Derives the error examples of each operation. Shared responses contain templates with placeholders, such as `$path`, and an
 * operation gets a copy of the response with its own values. A placeholder without a value stays, and the linter reports it.
 */
export function deriveErrorExamples(document: Document): Document {
  const derived = new Map(operationsOf(document).map((operation) => [operation.definition, deriveOperation(document, operation)]));
  const paths = Object.entries<Json>(document.paths).map(([path, item]) => [
    path,
    Object.fromEntries(Object.entries(item).map(([name, part]) => [name, derived.get(part) ?? part])),
  ]);
  // Every operation has its own copies, so nothing refers to the templates.
  const { responses, ...components } = document.components;
  return { ...document, paths: Object.fromEntries(paths), components };
}

function deriveOperation(document: Document, operation: Operation): Json {
  const values = placeholderValues(operation);
  const derive = (example: Json) => fill(isAboutInput(example) ? withInvalidInput(document, operation, example) : example, values);
  const responses = Object.entries(operation.responses).map(([status, response]) => [status, mapExamples(response, derive)]);
  return { ...operation.definition, responses: Object.fromEntries(responses) };
}

function mapExamples(response: Json, derive: (example: Json) => Json): Json {
  const problem = response?.content?.['application/problem+json'];
  if (!problem?.examples) return response;
  const examples = Object.entries<Json>(problem.examples).map(([name, example]) => [name, derive(example)]);
  return { ...response, content: { 'application/problem+json': { ...problem, examples: Object.fromEntries(examples) } } };
}

/** The placeholders that a template can contain. */
function placeholderValues(operation: Operation): Map<string, string> {
  const { parameters, body, scopes } = operation;
  const caller = callerOf(operation);
  const limit = caller === 'key' || caller === 'session' ? 600 : 60;
  const values: [name: string, value: unknown][] = [
    // Every parameter and body field by its name, such as $id and $provider_id.
    ...Object.entries(body?.example ?? {}),
    ...parameters.map(({ name, example }): [string, unknown] => [name, example]),
    ['path', examplePath(operation, caller === 'token' ? { token: '****' } : {})], // The service hides credentials in the path.
    ['field', Object.keys(body?.example ?? {})[0]],
    ['mediaType', body?.mediaType],
    ['scopes', scopes.length > 0 ? scopes.map((scope) => `"${scope}"`).join(', ') : undefined],
    ['caller', caller],
    ['limit', limit],
  ];
  return new Map(values.filter(([, value]) => value !== undefined).map(([name, value]) => [`$${name}`, String(value)]));
}

function fill(template: Json, values: Map<string, string>): Json {
  return JSON.parse(JSON.stringify(template), (_, text) =>
    typeof text === 'string' ? text.replace(/\$\w+/g, (name) => values.get(name) ?? name) : text,
  );
}

/** A template with this detail gets an input error that a request to the operation can have. */
function isAboutInput({ value }: Json): boolean {
  return value?.detail === '$validationErrors';
}

function withInvalidInput(document: Document, operation: Operation, example: Json): Json {
  const input = invalidInputOf(document, operation);
  if (!input) return example;
  const { summary, instance, detail, errors } = input;
  return { summary, value: { ...example.value, detail, instance, errors } };
}
