import type { Context } from 'koa';
import { Refusal } from '../errors.ts';

/**
 * A browser sends our cookie along with requests that other sites make it send. Those that change something are refused.
 * Browsers say where a request comes from; who says nothing is no browser.
 */
export function requireSameOrigin(ctx: Context, publicUrl: string) {
  const site = ctx.get('Sec-Fetch-Site');
  const origin = ctx.get('Origin');
  const isOurs = site !== '' ? site === 'same-origin' || site === 'none' : origin === '' || origin === new URL(publicUrl).origin;
  if (!isOurs) {
    throw new Refusal(
      'cross_origin',
      "From a browser and without a key, a request that changes something must come from the service's own origin.",
    );
  }
}
