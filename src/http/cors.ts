import cors from '@koa/cors';
import type { Context, Middleware } from 'koa';

const exposeHeaders = [
  'ETag',
  'Idempotent-Replayed',
  'Location',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
];

/**
 * Lets scripts of these origins (`*` is any) call the APIs and read the response headers. Credentials are never allowed, so
 * cookies work only on our own origin. Public paths are open to every origin.
 */
export function allowOrigins(allowed: string[], isPublic: (path: string) => boolean = () => false): Middleware {
  const handleOrigin = cors({ origin: corsOrigin(allowed, isPublic), exposeHeaders, maxAge: 600 });
  return (ctx, next) => {
    if (ctx.headers.origin !== undefined) return handleOrigin(ctx, next);
    ctx.res.setHeader('Vary', 'Origin'); // Without it, a cache could return this response, which has no CORS headers, to a script.
    return next();
  };
}

function corsOrigin(allowed: string[], isPublic: (path: string) => boolean) {
  return (ctx: Context) => {
    if (allowed.includes('*') || isPublic(ctx.path)) return '*';
    const origin = ctx.get('Origin');
    return allowed.includes(origin) ? origin : '';
  };
}
