import type { Context } from 'koa';

/**
 * Whether a request comes from our own pages. Browsers attach our cookie to requests that other sites trigger, but they also
 * report the origin. A client that sends neither header is not a browser, so its request is accepted.
 */
export function isSameOrigin(ctx: Context, publicUrl: string): boolean {
  const site = ctx.get('Sec-Fetch-Site');
  if (site !== '') return site === 'same-origin' || site === 'none';
  const origin = ctx.get('Origin');
  return origin === '' || origin === new URL(publicUrl).origin;
}
