import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Context } from 'koa';
import { matchesETag } from '../http/etags.ts';
import type { Html } from './html.ts';

/** A page, an OpenAPI document or a static file. The first request loads and caches it, so that it does not delay startup. */
export interface Asset {
  type: string;
  cacheControl: string;
  load(): Promise<string | Buffer>;
}

interface CachedAsset {
  plain: Buffer;
  gzipped: Buffer;
  hash: string;
}

const compress = promisify(gzip);
const cache = new WeakMap<Asset, Promise<CachedAsset>>();

/** Responds with the asset, compressed if the client accepts gzip, or with 304 if the client already has it. */
export async function sendAsset(ctx: Context, asset: Asset) {
  const { plain, gzipped, hash } = await getCachedAsset(asset);
  const isGzip = ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
  ctx.set('Content-Type', asset.type);
  ctx.set('Cache-Control', asset.cacheControl);
  ctx.vary('Accept-Encoding');
  // A strong ETag identifies the exact bytes, so the compressed body needs a different one.
  const etag = isGzip ? `"${hash}-gzip"` : `"${hash}"`;
  ctx.set('ETag', etag);
  if (matchesETag(ctx.headers['if-none-match'], etag)) {
    ctx.status = 304;
    return;
  }
  if (isGzip) ctx.set('Content-Encoding', 'gzip');
  ctx.body = isGzip ? gzipped : plain;
}

function getCachedAsset(asset: Asset): Promise<CachedAsset> {
  let cached = cache.get(asset);
  if (!cached) {
    cached = loadAsset(asset);
    cache.set(asset, cached);
    // An error is not cached, so that the next request tries again.
    cached.catch(() => cache.delete(asset));
  }
  return cached;
}

async function loadAsset(asset: Asset): Promise<CachedAsset> {
  const plain = Buffer.from(await asset.load());
  return { plain, gzipped: await compress(plain), hash: createHash('sha256').update(plain).digest('base64url').slice(0, 22) };
}

export function createHtmlAsset(render: () => Html): Asset {
  return { type: 'text/html; charset=utf-8', cacheControl: 'no-cache', load: async () => render().markup };
}
