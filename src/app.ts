import cors from '@koa/cors';
import { Router } from '@koa/router';
import Koa from 'koa';
import type { Document } from 'openapi-backend';
import type { Logger } from 'pino';
import proxyAddr from 'proxy-addr';
import monitoring from '../generated/monitoring.json' with { type: 'json' };
import websites from '../generated/websites.json' with { type: 'json' };
import { RateLimits } from './access/rate-limits.ts';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import { NotFound } from './errors.ts';
import { serveApi } from './http/api.ts';
import { answerProblems, logRequests, nameRequests } from './http/middleware.ts';
import { monitoringHandlers } from './monitoring/monitoring.handlers.ts';
import { MonitorEntity } from './monitoring/monitors/monitor.entity.ts';
import { WebsiteEntity } from './websites/website.entity.ts';
import { websiteRules } from './websites/website.rules.ts';
import { websiteHandlers } from './websites/websites.handlers.ts';

/** What the features store. */
export const entities = [WebsiteEntity, MonitorEntity];

export interface AppParts {
  config: Pick<Config, 'rateLimitPerMinute' | 'trustedProxies' | 'corsOrigins' | 'maxWebsites'>;
  database: Database;
  /** The service as seen from outside, without a slash at the end. */
  publicUrl: string;
  log: Logger;
}

/** Both APIs and the health checks on one Koa. */
export async function createApp({ config, database, publicUrl, log }: AppParts): Promise<Koa> {
  const isTrusted = proxyAddr.compile(config.trustedProxies);
  const parts = {
    database,
    rateLimits: new RateLimits(config.rateLimitPerMinute),
    addressOf: (ctx: Koa.Context) => proxyAddr(ctx.req, isTrusted),
  };
  const app = new Koa();
  app.use(nameRequests);
  app.use(logRequests(log));
  app.use(cors({ origin: corsOrigin(config.corsOrigins), exposeHeaders, maxAge: 600 }));
  app.use(answerProblems(publicUrl, log));
  app.use(healthChecks(database).routes());
  // The longer prefix first: /api/v1/… is under /api too.
  app.use(
    await serveApi({ root: '/api/v1', document: asDocument(websites), handlers: websiteHandlers(config), rules: websiteRules }, parts),
  );
  app.use(await serveApi({ root: '/api', document: asDocument(monitoring), handlers: monitoringHandlers }, parts));
  app.use(() => {
    throw new NotFound();
  });
  return app;
}

/** The bundles are checked by the linter, and too large for the compiler to see that they are OpenAPI. */
function asDocument(bundle: object): Document {
  return bundle as Document;
}

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

function corsOrigin(allowed: string[]) {
  return (ctx: Koa.Context) => {
    if (allowed.includes('*')) return '*';
    const origin = ctx.get('Origin');
    return allowed.includes(origin) ? origin : '';
  };
}

function healthChecks(database: Database): Router {
  const router = new Router();
  router.get('/healthz', (ctx) => {
    ctx.body = { status: 'ok' };
  });
  router.get('/readyz', async (ctx) => {
    const ready = await database.isReady();
    ctx.status = ready ? 200 : 503;
    ctx.body = { status: ready ? 'ready' : 'not ready' };
  });
  return router;
}
