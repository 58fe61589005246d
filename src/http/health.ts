import { Router } from '@koa/router';
import { allowOnlyGet } from './methods.ts';

/** Returns why the process is not ready, or undefined if it is. */
export type ReadinessCheck = () => Promise<string | undefined>;

/** Everybody can request /readyz, so the check runs at most once in this time. */
const cacheMs = 1000;

/** Serves `GET /healthz`, which responds while the event loop turns, and `GET /readyz`. They need no token. */
export function createHealthRouter(check: ReadinessCheck): Router {
  const router = new Router();
  let checked: { reason: Promise<string | undefined>; atMs: number } | undefined;
  const notReadyReason = () => {
    const now = performance.now();
    if (!checked || now - checked.atMs >= cacheMs) checked = { reason: check(), atMs: now };
    return checked.reason;
  };
  router.all('/healthz', (ctx) => {
    if (allowOnlyGet(ctx)) ctx.body = { status: 'ok' };
  });
  router.all('/readyz', async (ctx) => {
    if (!allowOnlyGet(ctx)) return;
    const reason = await notReadyReason();
    ctx.status = reason === undefined ? 200 : 503;
    ctx.body = reason === undefined ? { status: 'ready' } : { status: 'not ready', reason };
  });
  return router;
}
