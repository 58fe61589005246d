import type { Context } from 'koa';
import { ProblemError } from '../errors.ts';

/** For read-only paths. Returns true for GET and HEAD, responds to OPTIONS, and rejects every other method. */
export function allowOnlyGet(ctx: Context): boolean {
  if (ctx.method === 'GET' || ctx.method === 'HEAD') return true;
  ctx.set('Allow', 'GET, HEAD, OPTIONS');
  if (ctx.method !== 'OPTIONS')
    throw new ProblemError('method_not_allowed', `This path does not support ${ctx.method}. It supports GET, HEAD, OPTIONS.`);
  ctx.status = 204;
  return false;
}
