import type { Middleware } from 'koa';
import { answersGet } from '../http/methods.ts';
import { type Content, writeContent } from './content.ts';

/** The published specs, and the pages that explain them: all from our own files, and open to everybody. */
export function serveDocs(publicUrl: string): Middleware {
  // Loaded by the first who asks, so that the start does not pay for it.
  let contents: Promise<Map<string, Content>> | undefined;
  return async (ctx, next) => {
    const redirect = redirects[ctx.path];
    if (redirect === undefined && !/^\/(docs|openapi)(\/|$)/.test(ctx.path)) return next();
    contents ??= import('./contents.ts').then(({ docsContents }) => docsContents(publicUrl));
    const content = (await contents).get(ctx.path);
    if (redirect === undefined && !content) return next();
    if (!answersGet(ctx)) return;
    if (content) {
      ctx.set(safetyHeaders);
      return writeContent(ctx, content);
    }
    ctx.status = 302;
    ctx.set('Location', redirect ?? '');
  };
}

/** Relative, so that they hold behind a proxy that serves us under a path of its own. */
const redirects: Record<string, string | undefined> = { '/': 'docs', '/docs/': '../docs' };

const safetyHeaders = {
  // The pages hold no inline script and no inline style; Swagger UI's style sheet brings its icons as data.
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
  // Requests to our own API carry their origin, which tells them from those of other sites.
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
};
