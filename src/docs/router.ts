import type { Middleware } from 'koa';
import { allowOnlyGet } from '../http/methods.ts';
import { type Asset, sendAsset } from './asset-store.ts';

/** Serves the OpenAPI documents and the docs pages. They are public and load files only from this service. */
export function docsRouter(publicUrl: string): Middleware {
  // The first request loads the index, so that it does not delay startup.
  let index: Promise<Map<string, Asset>> | undefined;
  return async (ctx, next) => {
    const redirect = redirects[ctx.path];
    if (redirect === undefined && !/^\/(docs|openapi)(\/|$)/.test(ctx.path)) return next();
    index ??= import('./page-index.ts').then(({ createPageIndex }) => createPageIndex(publicUrl));
    const asset = (await index).get(ctx.path);
    if (redirect === undefined && !asset) return next();
    if (!allowOnlyGet(ctx)) return;
    if (asset) {
      ctx.set(securityHeaders);
      return sendAsset(ctx, asset);
    }
    ctx.status = 302;
    ctx.set('Location', redirect ?? '');
  };
}

/** The targets are relative, so that they work behind a proxy that adds a path prefix. */
const redirects: Record<string, string | undefined> = { '/': 'docs', '/docs/': '../docs' };

const securityHeaders = {
  // The pages have no inline scripts or styles. Swagger UI's style sheet contains its icons as data URLs.
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  // Other sites get no referrer. Requests to the service's own API keep their origin, which the same-origin check needs.
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
};
