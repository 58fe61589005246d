import { createHash, timingSafeEqual } from 'node:crypto';
import Koa, { type Middleware } from 'koa';
import type { Logger } from 'pino';
import { NotFound, Refusal } from '../errors.ts';
import { answersGet } from './methods.ts';
import { answerProblems, nameRequests } from './middleware.ts';
import { type Listening, listen } from './server.ts';

/** What is shown: the registry of this process, or what is gathered from several. */
export interface Figures {
  contentType: string;
  metrics(): Promise<string>;
}

/** `GET /metrics`, for whoever brings the token, where one is set. */
export function metricsPage(figures: Figures, token?: string): Middleware {
  return async (ctx, next) => {
    if (ctx.path !== '/metrics') return next();
    if (!answersGet(ctx)) return;
    if (token !== undefined && !isSame(ctx.get('Authorization'), `Bearer ${token}`)) {
      throw new Refusal('unauthenticated', 'The metrics need the token that the operator set, as a Bearer value.');
    }
    ctx.body = await figures.metrics();
    ctx.type = figures.contentType;
  };
}

/** The metrics on a port of their own, out of the way of what users reach. */
export async function serveMetrics(
  figures: Figures,
  { host, port, token }: { host: string; port: number; token?: string },
  log: Logger,
): Promise<Listening> {
  const server = await listen({ host, port, settings: 'METRICS_HOST or METRICS_PORT' });
  const app = new Koa();
  app.use(nameRequests);
  app.use(answerProblems(server.url, log));
  app.use(metricsPage(figures, token));
  app.use(() => {
    throw new NotFound();
  });
  server.answerWith(app.callback());
  log.info(`Metrics on ${server.url}/metrics`);
  return server;
}

function isSame(given: string, expected: string): boolean {
  const [one, other] = [given, expected].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(one as Buffer, other as Buffer);
}
