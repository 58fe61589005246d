import { ProblemError } from '../errors.ts';

export type FormField = [name: string, value: string];

/**
 * Parses a query string or a form. URLSearchParams would silently replace invalid percent-encoded UTF-8 with U+FFFD;
 * this function rejects it.
 */
export function parseUrlencoded(text: string, what: 'The query string' | 'The form'): FormField[] {
  try {
    return text
      .split('&')
      .filter((field) => field !== '')
      .map((field) => {
        const [name = '', ...value] = field.split('=');
        return [decode(name), decode(value.join('='))];
      });
  } catch {
    throw new ProblemError('malformed_encoding', `${what} is not valid percent-encoded UTF-8.`);
  }
}

function decode(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}
