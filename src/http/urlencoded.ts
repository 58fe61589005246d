import { InvalidRequest, ProblemError, type ValidationError } from '../errors.ts';

export type FormField = [name: string, value: string];

/**
 * Parses a query string or a form. URLSearchParams would silently replace invalid percent-encoded UTF-8 with U+FFFD; this
 * function rejects it.
 */
export function parseUrlencoded(
  text: string,
  what: 'The query string' | 'The form',
  { maxFields = Number.POSITIVE_INFINITY } = {},
): FormField[] {
  const fields: FormField[] = [];
  for (const [field] of text.matchAll(/[^&]+/g)) {
    if (fields.length === maxFields) throw new InvalidRequest([tooManyFields(maxFields)]);
    const equals = field.indexOf('=');
    const [name, value] = equals === -1 ? [field, ''] : [field.slice(0, equals), field.slice(equals + 1)];
    fields.push([decode(name, what), decode(value, what)]);
  }
  return fields;
}

export function tooManyFields(maximum: number): ValidationError {
  return { in: 'body', pointer: '', code: 'max_properties', message: `must have at most ${maximum} fields` };
}

function decode(text: string, what: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new ProblemError('malformed_encoding', `${what} is not valid percent-encoded UTF-8.`);
  }
}
