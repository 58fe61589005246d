import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Context } from 'koa';
import { isUnchanged } from '../http/versions.ts';
import type { Html } from './html.ts';

/** Something that is served under one path. It is made at the first request and kept, so that the start does not pay for it. */
export interface Content {
  type: string;
  cacheControl: string;
  make(): Promise<string | Buffer>;
}

interface Kept {
  plain: Buffer;
  zipped: Buffer;
  hash: string;
}

const zip = promisify(gzip);
const made = new WeakMap<Content, Promise<Kept>>();

export async function writeContent(ctx: Context, content: Content) {
  const { plain, zipped, hash } = await keep(content);
  const isZipped = ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
  ctx.set('Content-Type', content.type);
  ctx.set('Cache-Control', content.cacheControl);
  ctx.vary('Accept-Encoding');
  // A strong validator stands for the very bytes.
  const version = isZipped ? `${hash}-gzip` : hash;
  ctx.set('ETag', `"${version}"`);
  if (isUnchanged(ctx.headers['if-none-match'], version)) {
    ctx.status = 304;
    return;
  }
  if (isZipped) ctx.set('Content-Encoding', 'gzip');
  ctx.body = isZipped ? zipped : plain;
}

function keep(content: Content): Promise<Kept> {
  let kept = made.get(content);
  if (!kept) {
    kept = prepare(content);
    made.set(content, kept);
    // What went wrong once is tried again by the next request.
    kept.catch(() => made.delete(content));
  }
  return kept;
}

async function prepare(content: Content): Promise<Kept> {
  const plain = Buffer.from(await content.make());
  return { plain, zipped: await zip(plain), hash: createHash('sha256').update(plain).digest('base64url').slice(0, 22) };
}

export function htmlContent(make: () => Html): Content {
  return { type: 'text/html; charset=utf-8', cacheControl: 'no-cache', make: async () => make().markup };
}
