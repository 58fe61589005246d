import { ProblemError } from '../errors.ts';

export type FormField = [name: string, value: string];

/**
 * Parses a query string or a form, up to `maxFields`. URLSearchParams would silently replace invalid percent-encoded UTF-8
 * with U+FFFD; this function rejects it.
 */
export function parseUrlencoded(text: string, what: 'The query string' | 'The form', maxFields = Number.POSITIVE_INFINITY): FormField[] {
  const fields: FormField[] = [];
  try {
    for (const [field] of text.matchAll(/[^&]+/g)) {
      if (fields.length === maxFields) break;
      const equals = field.indexOf('=');
      fields.push(equals === -1 ? [decode(field), ''] : [decode(field.slice(0, equals)), decode(field.slice(equals + 1))]);
    }
    return fields;
  } catch {
    throw new ProblemError('malformed_encoding', `${what} is not valid percent-encoded UTF-8.`);
  }
}

function decode(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}
