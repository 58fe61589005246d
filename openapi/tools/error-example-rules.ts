import type { Document } from './merge-documents.ts';
import { callerOf, type Json, type Operation, operationsOf, propertySchema } from './operations.ts';

export interface Finding {
  rule: string;
  /** The location in the document. */
  at: string;
  message: string;
}

type Rule = (problem: Json, operation: Operation, document: Document) => string | undefined;

/** Finds error examples that the operation they stand in cannot return. They must have been derived before. */
export function findWrongErrorExamples(document: Document): Finding[] {
  const statusOfCode = new Map<string, string>();
  return [...errorExamples(document)].flatMap(({ operation, status, name, problem }) => {
    const at = `${operation.at}.responses[${status}].content.application/problem+json.examples.${name}`;
    const known = statusOfCode.get(problem.code) ?? status;
    statusOfCode.set(problem.code, known);
    const messages = Object.entries(rules).map(([rule, check]) => ({ rule, at, message: check(problem, operation, document) }));
    if (known !== status) {
      messages.push({ rule: 'sitekeeper-example-code', at, message: `The code "${problem.code}" also stands for the status ${known}.` });
    }
    return messages.filter((finding): finding is Finding => finding.message !== undefined);
  });
}

/** Yields every example of an error response. */
export function* errorExamples(document: Document) {
  for (const operation of operationsOf(document)) {
    for (const [status, response] of Object.entries(operation.responses)) {
      const { examples = {} } = response?.content?.['application/problem+json'] ?? {};
      for (const [name, example] of Object.entries<Json>(examples)) yield { operation, status, name, problem: example.value ?? {} };
    }
  }
}

const rules: Record<string, Rule> = {
  'sitekeeper-example-instance': ({ instance }, { path }) =>
    new RegExp(`^${path.replace(/[.+]/g, '\\$&').replace(/\{\w+\}/g, '[^/{}$]+')}$`).test(instance)
      ? undefined
      : `The instance ${instance} is not a path of ${path}.`,

  'sitekeeper-example-scope': ({ code, detail }, { scopes }) => {
    if (code !== 'missing_scope') return undefined;
    const named = quotedIn(detail);
    if (named.length > 0 && named.every((scope) => scopes.includes(scope))) return undefined;
    return `The detail must name a scope that the operation requires: ${scopes.join(', ') || 'there is none'}.`;
  },

  'sitekeeper-example-media-type': ({ code, detail }, { body, responses }) => {
    const named = /^This operation (?:accepts|returns) (\S+?),? /.exec(detail)?.[1];
    if (code === 'unsupported_media_type' && named !== body?.mediaType)
      return `The operation accepts ${body?.mediaType ?? 'no body'}, not ${named}.`;
    const returned = Object.entries(responses).flatMap(([status, { content = {} }]) => (status < '300' ? Object.keys(content) : []));
    if (code === 'not_acceptable' && !returned.includes(named ?? '')) return `The operation returns ${returned.join(', ')}, not ${named}.`;
    return undefined;
  },

  'sitekeeper-example-input': ({ code, detail, errors = [] }, operation, document) => {
    const isAboutQuery = code === 'malformed_encoding' && detail.includes('query string');
    if (isAboutQuery && !operation.parameters.some((parameter) => parameter.in === 'query'))
      return 'The operation has no query parameters.';
    const duplicates = code === 'duplicate_key' ? quotedIn(detail).map((field) => ({ in: 'body', pointer: `/${field}` })) : [];
    return [...duplicates, ...errors].map((error) => wrongInput(document, operation, error)).find(Boolean);
  },

  'sitekeeper-example-caller': ({ code, detail }, operation) => {
    if (code !== 'rate_limited') return undefined;
    const named = /^The limit for this (\w+) /.exec(detail)?.[1];
    const expected = callerOf(operation);
    return named === expected ? undefined : `The limit applies to the ${expected}, not the ${named}.`;
  },

  'sitekeeper-example-placeholder': (problem) => {
    const left = JSON.stringify(problem).match(/\$\w+/)?.[0];
    return left && `The operation has no value for ${left}.`;
  },
};

function wrongInput(document: Document, operation: Operation, error: Json): string | undefined {
  if (error.in !== 'body') {
    const isDeclared = operation.parameters.some((parameter) => parameter.in === error.in && parameter.name === error.name);
    return isDeclared ? undefined : `The operation has no ${error.in} parameter "${error.name}".`;
  }
  if (!operation.body) return 'The operation has no body.';
  const { pointer = '', code } = error;
  const steps: string[] = pointer.split('/').slice(1);
  const exists = steps.reduce((schema, step) => propertySchema(document, schema, step), operation.body.schema) !== undefined;
  if (code === 'unknown_field') return exists ? `${pointer} is a field of the body, not an unknown one.` : undefined;
  return exists ? undefined : `The body has no field ${pointer}.`;
}

function quotedIn(text: string): string[] {
  return [...text.matchAll(/"([^"]+)"/g)].map(([, quoted = '']) => quoted);
}
