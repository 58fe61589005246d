import type { Document } from './merge-documents.ts';
import { examplePath, type Json, type Operation, resolve } from './operations.ts';

interface InvalidInput {
  summary: string;
  instance: string;
  detail: string;
  errors: Json[];
}

/**
 * Returns a mistake that a request to the operation can contain, and what the service says about it: a misspelled field of the
 * body, or else a number that is text, or else a long header. It is undefined if the operation has none of them.
 */
export function invalidInputOf(document: Document, operation: Operation): InvalidInput | undefined {
  const [field] = Object.keys(operation.body?.example ?? {});
  if (operation.body && field !== undefined) {
    const { required = [] } = resolve(document, operation.body.schema) ?? {};
    return describe('A misspelled field', examplePath(operation), [
      ...(required.includes(field) ? [{ in: 'body', pointer: `/${field}`, code: 'required', message: 'is required' }] : []),
      { in: 'body', pointer: `/${misspell(field)}`, code: 'unknown_field', message: 'is not a known field' },
    ]);
  }
  const number = operation.parameters.find(({ schema }) => schema?.type === 'integer' && !schema.enum);
  const header = operation.parameters.find((parameter) => parameter.in === 'header' && parameter.schema?.maxLength !== undefined);
  if (!number && header) {
    const message = `must have at most ${header.schema.maxLength} characters`;
    return describe('A header that is too long', examplePath(operation), [
      { in: 'header', name: header.name, code: 'max_length', message },
    ]);
  }
  if (!number) return undefined;
  const instance = examplePath(operation, number.in === 'path' ? { [number.name]: 'abc' } : {});
  return describe('A parameter of the wrong type', instance, [
    { in: number.in, name: number.name, code: 'type', message: 'must be an integer' },
  ]);
}

function describe(summary: string, instance: string, errors: Json[]): InvalidInput {
  const place = ({ in: location, pointer, name }: Json) =>
    pointer ?? (location === 'header' ? `the header "${name}"` : `the ${location} parameter "${name}"`);
  const list = errors.map((error) => `${place(error)} ${error.message}`);
  const count = errors.length === 1 ? '1 validation error' : `${errors.length} validation errors`;
  return { summary, instance, detail: `The request has ${count}: ${list.join('; ')}.`, errors };
}

/** Swaps the second and the third letter. */
function misspell(name: string): string {
  return name.replace(/^(.)(.)(.)/, '$1$3$2');
}
