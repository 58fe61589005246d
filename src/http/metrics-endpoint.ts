import { createHash, timingSafeEqual } from 'node:crypto';
import Koa, { type Middleware } from 'koa';
import type { Logger } from 'pino';
import { ProblemError, UnknownPath } from '../errors.ts';
import { createHealthRouter, type ReadinessCheck } from './health.ts';
import { allowOnlyGet } from './methods.ts';
import { assignRequestId, handleProblems } from './middleware.ts';
import { type HttpServer, listen } from './server.ts';

/** The metrics of this process, or the sum over all workers. */
export interface MetricsSource {
  contentType: string;
  metrics(): Promise<string>;
}

/** Serves `GET /metrics`. If a token is set, the request must carry it. */
export function metricsEndpoint(metricsSource: MetricsSource, token?: string): Middleware {
  return async (ctx, next) => {
    if (ctx.path !== '/metrics') return next();
    if (!allowOnlyGet(ctx)) return;
    if (token !== undefined && !isEqual(ctx.get('Authorization'), `Bearer ${token}`)) {
      throw new ProblemError('unauthenticated', 'Send the value of METRICS_TOKEN in the header "Authorization: Bearer <token>".');
    }
    ctx.body = await metricsSource.metrics();
    ctx.type = metricsSource.contentType;
  };
}

/** Serves the metrics and the health checks of the process on a separate port, which can be kept private. */
export async function serveMetrics(
  metricsSource: MetricsSource,
  { host, port, token }: { host: string; port: number; token?: string },
  { log, checkReadiness }: { log: Logger; checkReadiness: ReadinessCheck },
): Promise<HttpServer> {
  const server = await listen({ host, port, remedy: 'set METRICS_HOST or METRICS_PORT to another value' });
  const app = new Koa();
  app.use(assignRequestId);
  app.use(handleProblems(server.url, log));
  app.use(createHealthRouter(checkReadiness).routes());
  app.use(metricsEndpoint(metricsSource, token));
  app.use(() => {
    throw new UnknownPath();
  });
  server.setHandler(app.callback());
  log.info(`Serving metrics on ${server.url}/metrics`);
  return server;
}

/** Compares in constant time. Hashing gives both sides the same length. */
function isEqual(given: string, expected: string): boolean {
  const [one, other] = [given, expected].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(one as Buffer, other as Buffer);
}
