import type { Context } from 'koa';
import { Refusal } from '../errors.ts';

/** For what can only be read: whether this request wants that. Answers OPTIONS, and refuses all other methods. */
export function answersGet(ctx: Context): boolean {
  if (ctx.method === 'GET' || ctx.method === 'HEAD') return true;
  ctx.set('Allow', 'GET, HEAD, OPTIONS');
  if (ctx.method !== 'OPTIONS') throw new Refusal('method_not_allowed', `This path takes GET, HEAD, OPTIONS, not ${ctx.method}.`);
  ctx.status = 204;
  return false;
}
