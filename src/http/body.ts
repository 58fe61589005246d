import type { Context } from 'koa';
import { HttpMethodEnum, koaBody } from 'koa-body';
import { InvalidRequest, ProblemError, type ValidationError } from '../errors.ts';
import type { Operation } from './contract.ts';
import { type FormField, parseUrlencoded, tooManyFields } from './urlencoded.ts';

export const maxBodyBytes = 256 * 1024;

/** A parsed body: a JSON value, or the fields of a form in the order they were sent. */
export type Body = ({ json: unknown } | { form: FormField[] }) & { bytes: number };

/** No body of the contract has that many fields. */
const maxFields = 1000;
/** Quotation marks and opening brackets. */
const maxMarks = 20_000;

// koa-body only reads the bytes, because no encoding is set. They are decoded and parsed below, with stricter rules than those
// of its parsers. Its decoder would also load the tables of all encodings, which blocks the first request.
const readBytes = koaBody({
  json: false,
  urlencoded: false,
  text: true,
  textTypes: ['application/json', 'application/x-www-form-urlencoded'],
  textLimit: maxBodyBytes,
  encoding: '' as never,
  parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.PUT, HttpMethodEnum.PATCH, HttpMethodEnum.DELETE],
});

/** Rejects a body whose media type the operation does not accept. */
export function requireMediaType(ctx: Context, operation: Operation) {
  if (!operation.body || !hasBody(ctx)) return;
  const charset = ctx.request.charset.toLowerCase();
  if (!ctx.is(operation.body.mediaType) || (charset !== '' && charset !== 'utf-8')) {
    const given = ctx.get('Content-Type').slice(0, 100) || 'a body without Content-Type';
    throw new ProblemError(
      'unsupported_media_type',
      `This operation accepts ${operation.body.mediaType} in UTF-8, not ${given}. Set Content-Type accordingly.`,
    );
  }
}

/** Returns the parsed body, or undefined if there is none. */
export async function readBody(ctx: Context, operation: Operation): Promise<Body | undefined> {
  if (!operation.body || !hasBody(ctx)) return undefined;
  const bytes = await bytesOf(ctx);
  if (operation.body.mediaType === 'application/x-www-form-urlencoded')
    return { form: parseUrlencoded(decodeUtf8(bytes), 'The form', { maxFields }), bytes: bytes.length };
  rejectComplex(bytes);
  const text = decodeUtf8(bytes);
  return text === '' ? undefined : { json: parseJson(text), bytes: bytes.length };
}

function hasBody(ctx: Context): boolean {
  return ctx.req.headers['transfer-encoding'] !== undefined || Number(ctx.req.headers['content-length'] ?? 0) > 0;
}

async function bytesOf(ctx: Context): Promise<Buffer> {
  try {
    await readBytes(ctx as never, async () => {});
  } catch (error) {
    const { status, type } = error as { status?: number; type?: string };
    if (status === 413) throw new ProblemError('body_too_large', `The body is larger than ${maxBodyBytes / 1024} KiB.`);
    if (status === 415) throw new ProblemError('unsupported_media_type', 'The Content-Encoding of the body is not supported.');
    if (type === 'request.aborted') throw new ProblemError('malformed_request', 'The body ended before its Content-Length was reached.');
    throw new ProblemError('malformed_encoding', 'The body does not match its Content-Encoding.');
  }
  return (ctx.request.body as unknown as Buffer | undefined) ?? Buffer.alloc(0);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decodeUtf8(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new ProblemError('malformed_encoding', 'The body is not valid UTF-8.');
  }
}

function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ProblemError('malformed_json', `The body is not valid JSON: ${(error as Error).message}.`);
  }
  const duplicate = findDuplicateKey(text);
  if (duplicate !== undefined) {
    throw new ProblemError('duplicate_key', `The key ${duplicate.slice(0, 100)} appears more than once in the same JSON object.`);
  }
  return value;
}

const [quotationMark, brace, bracket] = Buffer.from('"{[');

/**
 * Rejects a body that has more values than any in the contract, before parsing it takes long. It may not be valid JSON. Looking
 * at each byte takes a fraction of the time that matching an expression takes.
 */
function rejectComplex(bytes: Buffer) {
  let marks = 0;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index];
    const isMark = byte === quotationMark || byte === brace || byte === bracket;
    if (isMark && ++marks > maxMarks) throw new InvalidRequest([tooManyValues]);
  }
}

const tooManyValues: ValidationError = { in: 'body', pointer: '', code: 'max_items', message: 'must not have that many values' };

/**
 * Returns the first key, in quotes, that an object contains twice; JSON.parse silently keeps the last one. Throws if there are
 * more fields than in any body of the contract. `text` is valid JSON, so looking at its strings and brackets is enough: on
 * other text the expression could take exponential time. This is our own code, because the parsers that report duplicates
 * either accept equal values or recurse once per level.
 */
function findDuplicateKey(text: string): string | undefined {
  /** The keys of each open object. An array has an entry as well, which stays empty. */
  const open: (Set<string> | undefined)[] = [];
  let fields = 0;
  for (const [token, colon] of text.matchAll(/[{}[\]]|"(?:[^"\\]+|\\.)*"(\s*:)?/g)) {
    if (colon && ++fields > maxFields) throw new InvalidRequest([tooManyFields(maxFields)]);
    if (token === '{' || token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (colon) {
      const quoted = token.slice(0, -colon.length);
      const key = JSON.parse(quoted) as string;
      const keys = open.at(-1) ?? new Set();
      if (keys.has(key)) return quoted;
      open[open.length - 1] = keys.add(key);
    }
  }
  return undefined;
}
