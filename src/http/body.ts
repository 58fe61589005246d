import type { Context } from 'koa';
import { HttpMethodEnum, koaBody } from 'koa-body';
import { Refusal } from '../errors.ts';
import type { Operation } from './contract.ts';
import { type Pair, parsePairs } from './pairs.ts';

export const bodyLimitBytes = 256 * 1024;

/** A body that was read: a JSON value, or the pairs of a form in the order they were sent. */
export type Body = { json: unknown } | { form: Pair[] };

// Read as bytes ('binary' keeps each byte as one character), whatever the type: what they mean is decided below, with
// stricter rules than any parser of the library has.
const readBytes = koaBody({
  json: false,
  urlencoded: false,
  text: true,
  textTypes: ['application/json', 'application/x-www-form-urlencoded'],
  textLimit: bodyLimitBytes,
  encoding: 'binary',
  parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.PUT, HttpMethodEnum.PATCH, HttpMethodEnum.DELETE],
});

/** Refuses a body of another type than the operation takes. */
export function checkMediaType(ctx: Context, operation: Operation) {
  if (!operation.body || !hasBody(ctx)) return;
  const charset = ctx.request.charset.toLowerCase();
  if (!ctx.is(operation.body.mediaType) || (charset !== '' && charset !== 'utf-8')) {
    const given = ctx.get('Content-Type').slice(0, 100) || 'a body without Content-Type';
    throw new Refusal('unsupported_media_type', `This operation takes ${operation.body.mediaType} in UTF-8, not ${given}.`);
  }
}

/** The body, or undefined where there is none. */
export async function readBody(ctx: Context, operation: Operation): Promise<Body | undefined> {
  if (!operation.body || !hasBody(ctx)) return undefined;
  const text = decodeUtf8(await bytesOf(ctx));
  if (operation.body.mediaType === 'application/x-www-form-urlencoded') return { form: parsePairs(text, 'The form') };
  return text === '' ? undefined : { json: parseJson(text) };
}

function hasBody(ctx: Context): boolean {
  return ctx.req.headers['transfer-encoding'] !== undefined || Number(ctx.req.headers['content-length'] ?? 0) > 0;
}

async function bytesOf(ctx: Context): Promise<Buffer> {
  try {
    await readBytes(ctx as never, async () => {});
  } catch (error) {
    const { status, type } = error as { status?: number; type?: string };
    if (status === 413) throw new Refusal('body_too_large', `A body may have at most ${bodyLimitBytes} bytes.`);
    if (status === 415) throw new Refusal('unsupported_media_type', 'The Content-Encoding of the body is not supported.');
    if (type === 'request.aborted') throw new Refusal('malformed_request', 'The body ended before its announced length.');
    throw new Refusal('malformed_encoding', 'The body does not fit its Content-Length or Content-Encoding.');
  }
  return Buffer.from((ctx.request as { body?: string }).body ?? '', 'binary');
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decodeUtf8(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Refusal('malformed_encoding', 'The body is not valid UTF-8.');
  }
}

function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Refusal('malformed_json', `The body is not valid JSON: ${(error as Error).message}.`);
  }
  const twice = findDuplicateKey(text);
  if (twice !== undefined) {
    throw new Refusal(
      'duplicate_key',
      `The key ${twice.slice(0, 100)} stands twice in one object, so it is not clear which value is meant.`,
    );
  }
  return value;
}

/**
 * The first key, quoted, that an object has twice; JSON.parse keeps the last one without a word. `text` is valid JSON, so
 * looking at its strings and brackets is enough. Written here because the parsers that report doubles either let equal
 * values pass or recurse once per level.
 */
function findDuplicateKey(text: string): string | undefined {
  const open: (Set<string> | undefined)[] = [];
  for (const [token, colon] of text.matchAll(/[{}[\]]|"(?:[^"\\]+|\\.)*"(\s*:)?/g)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (colon) {
      const quoted = token.slice(0, -colon.length);
      const key = JSON.parse(quoted) as string;
      const keys = open.at(-1);
      if (keys?.has(key)) return quoted;
      keys?.add(key);
    }
  }
  return undefined;
}
