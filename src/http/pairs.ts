import { Refusal } from '../errors.ts';

export type Pair = [name: string, value: string];

/**
 * The pairs of a query string or form. Unlike URLSearchParams it refuses what is not percent-encoded UTF-8 instead of
 * putting replacement characters in its place.
 */
export function parsePairs(text: string, what: 'The query string' | 'The form'): Pair[] {
  try {
    return text
      .split('&')
      .filter((pair) => pair !== '')
      .map((pair) => {
        const [name = '', ...value] = pair.split('=');
        return [decode(name), decode(value.join('='))];
      });
  } catch {
    throw new Refusal('malformed_encoding', `${what} is not valid percent-encoded UTF-8.`);
  }
}

function decode(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}
