import cors from '@koa/cors';
import type { Context, Middleware } from 'koa';

const exposeHeaders = [
  'ETag',
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
 * Lets scripts of these origins (`*`: of any) call us and read what the headers say. No cookies: those stay on our own
 * origin. What is open to everybody is open to every origin.
 */
export function allowOrigins(allowed: string[], isOpen: (path: string) => boolean = () => false): Middleware {
  const answerOrigin = cors({ origin: corsOrigin(allowed, isOpen), exposeHeaders, maxAge: 600 });
  return (ctx, next) => {
    if (ctx.headers.origin !== undefined) return answerOrigin(ctx, next);
    ctx.res.setHeader('Vary', 'Origin'); // a cache must not hand this answer to a script
    return next();
  };
}

function corsOrigin(allowed: string[], isOpen: (path: string) => boolean) {
  return (ctx: Context) => {
    if (allowed.includes('*') || isOpen(ctx.path)) return '*';
    const origin = ctx.get('Origin');
    return allowed.includes(origin) ? origin : '';
  };
}
