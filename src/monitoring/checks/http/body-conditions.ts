import type { IncomingHttpHeaders } from 'node:http';
import { inTurn } from '../../../net/turns.ts';
import type { HttpOptions } from './http.options.ts';
import { TextSearch } from './text-search.ts';

type Conditions = Pick<HttpOptions, 'body_contains' | 'body_not_contains' | 'json'>;

const searchedBytes = 1024 * 1024;
/** A larger document could block the process for more than 50 ms. */
const maxJsonBytes = 128 * 1024;
/** Decoding and searching so much takes a few milliseconds at most. */
const pieceBytes = 64 * 1024;

/** How many bytes of a body the conditions need; 0 if there are none. */
export function bytesNeeded({ body_contains, body_not_contains, json }: Conditions): number {
  if (body_contains !== null || body_not_contains !== null) return searchedBytes;
  return json === null ? 0 : maxJsonBytes + 1;
}

/** Returns why a response does not meet the conditions, or undefined. It quotes nothing of the body, which may contain secrets. */
export async function bodyFailure(
  { headers, body, isCut }: { headers: IncomingHttpHeaders; body: Buffer; isCut: boolean },
  userId: number,
  { body_contains: wanted, body_not_contains: unwanted, json }: Conditions,
): Promise<string | undefined> {
  const encoding = headers['content-encoding'] || 'identity';
  if (encoding.toLowerCase() !== 'identity') return 'the body is compressed, although that was not asked for, and cannot be searched';
  const texts = [wanted, unwanted].filter((text) => text !== null);
  const found = texts.length > 0 ? await findTexts(body, userId, charsetOf(headers), texts) : new Set();
  const isMissing = wanted !== null && !found.has(wanted);
  const isPresent = unwanted !== null && found.has(unwanted);
  const dependsOnRest = isMissing || (!isPresent && (unwanted !== null || json !== null));
  if (isCut && dependsOnRest) return 'the body was sent in pieces that are too small, and was not read to its end';
  const searched = body.length < searchedBytes ? 'the body' : 'the first MiB of the body';
  if (isMissing) return `${searched} does not contain ${JSON.stringify(wanted)}`;
  if (isPresent) return `the body contains ${JSON.stringify(unwanted)}`;
  return json === null ? undefined : inTurn('searching', userId, () => jsonFailure(body, json));
}

/**
 * Returns those of the texts that the body contains. Searching the bytes of UTF-8 finds the same as searching characters, and saves
 * decoding nearly every page of the web.
 */
async function findTexts(body: Buffer, userId: number, charset: string, texts: string[]): Promise<Set<string>> {
  const decoder = decoderFor(charset);
  const searches = texts.map((text) => ({ text, search: new TextSearch(Buffer.from(text)) }));
  const areAllFound = () => searches.every(({ search }) => search.isFound);
  for (let start = 0; start < body.length && !areAllFound(); start += pieceBytes) {
    await inTurn('searching', userId, () => {
      const piece = body.subarray(start, start + pieceBytes);
      const utf8 = decoder.encoding === 'utf-8' ? piece : Buffer.from(decoder.decode(piece, { stream: true }));
      for (const { search } of searches) search.add(utf8);
    });
  }
  return new Set(searches.filter(({ search }) => search.isFound).map(({ text }) => text));
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
