import type { IncomingHttpHeaders } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HttpOptions } from './http.options.ts';

type Conditions = Pick<HttpOptions, 'body_contains' | 'body_not_contains' | 'json'>;

const searchedBytes = 1024 * 1024;
/** A larger document could block the process for more than 50 ms. */
const maxJsonBytes = 128 * 1024;
/** Decoding and searching more at once could block it as well. */
const pieceBytes = 64 * 1024;

/** How many bytes of a body the conditions need; 0 if there are none. */
export function bytesNeeded({ body_contains, body_not_contains, json }: Conditions): number {
  if (body_contains !== null || body_not_contains !== null) return searchedBytes;
  return json === null ? 0 : maxJsonBytes + 1;
}

/** Returns why a response does not meet the conditions, or undefined. It quotes nothing of the body, which may contain secrets. */
export async function bodyFailure(
  { headers, body }: { headers: IncomingHttpHeaders; body: Buffer },
  { body_contains: wanted, body_not_contains: unwanted, json }: Conditions,
): Promise<string | undefined> {
  const encoding = headers['content-encoding'] || 'identity';
  if (encoding.toLowerCase() !== 'identity') return 'the body is compressed, although that was not asked for, and cannot be searched';
  const texts = [wanted, unwanted].filter((text) => text !== null);
  const found = texts.length > 0 ? await findTexts(body, charsetOf(headers), texts) : new Set();
  if (wanted !== null && !found.has(wanted)) return `the body does not contain ${JSON.stringify(wanted)}`;
  if (unwanted !== null && found.has(unwanted)) return `the body contains ${JSON.stringify(unwanted)}`;
  return json === null ? undefined : jsonFailure(body, json);
}

/** Returns those of the texts that the body contains. Other work continues between two pieces. */
async function findTexts(body: Buffer, charset: string, texts: string[]): Promise<Set<string>> {
  const decoder = decoderFor(charset);
  const found = new Set<string>();
  const longest = Math.max(...texts.map(({ length }) => length));
  let rest = '';
  for (let start = 0; ; start += pieceBytes) {
    const isLast = start + pieceBytes >= body.length;
    const piece = rest + decoder.decode(body.subarray(start, start + pieceBytes), { stream: !isLast });
    for (const text of texts) if (piece.includes(text)) found.add(text);
    if (isLast || found.size === texts.length) return found;
    rest = piece.slice(Math.max(0, piece.length - longest + 1)); // A text may begin in one piece and end in the next.
    await nextTurn();
  }
}

function charsetOf(headers: IncomingHttpHeaders): string {
  return /charset\s*=\s*"?([^\s;"]+)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8';
}

function decoderFor(charset: string) {
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
}

function jsonFailure(body: Buffer, { pointer, equals }: NonNullable<HttpOptions['json']>): string | undefined {
  if (body.length > maxJsonBytes) return `the body is longer than ${maxJsonBytes / 1024} KiB, and is not parsed as JSON`;
  let document: unknown;
  try {
    document = JSON.parse(body.toString().replace(/^\uFEFF/, ''));
  } catch {
    return 'the body is not valid JSON';
  }
  const value = valueAt(document, pointer);
  const where = pointer === '' ? 'the JSON document' : `the JSON value at ${pointer}`;
  if (value === undefined) return `${where} does not exist`;
  return value === equals ? undefined : `${where} is not ${JSON.stringify(equals)}`;
}

/** Libraries for JSON pointers also find inherited properties, the length of an array, and the characters of a string. */
function valueAt(document: unknown, pointer: string): unknown {
  const keys = pointer.split('/').slice(1);
  return keys.reduce<unknown>((value, key) => {
    if (typeof value !== 'object' || value === null) return undefined;
    if (Array.isArray(value)) return /^(0|[1-9]\d*)$/.test(key) ? value[Number(key)] : undefined;
    const name = key.replaceAll('~1', '/').replaceAll('~0', '~');
    return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
  }, document);
}
