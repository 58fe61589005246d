import { Router } from '@koa/router';
import Koa from 'koa';
import type { Document } from 'openapi-backend';
import type { Logger } from 'pino';
import proxyAddr from 'proxy-addr';
import monitoring from '../generated/monitoring.json' with { type: 'json' };
import websites from '../generated/websites.json' with { type: 'json' };
import { ApiKeyEntity } from './access/api-key.entity.ts';
import { Authenticator } from './access/authenticator.ts';
import type { Limiters } from './access/limiters.ts';
import { RateLimits } from './access/rate-limits.ts';
import { SessionEntity } from './access/session.entity.ts';
import { sessionHandlers } from './access/session.handlers.ts';
import { SignIn } from './access/sign-in.ts';
import { UserEntity } from './access/user.entity.ts';
import { Vault } from './access/vault.ts';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import { serveDocs } from './docs/docs.ts';
import { isSpecPath } from './docs/specs.ts';
import { NotFound } from './errors.ts';
import { type Api, type ApiParts, serveApi } from './http/api.ts';
import { allowOrigins } from './http/cors.ts';
import { answersGet } from './http/methods.ts';
import { type Figures, metricsPage } from './http/metrics-page.ts';
import { answerProblems, nameRequests, watchRequests } from './http/middleware.ts';
import { SessionCookie } from './http/session-cookie.ts';
import type { Metrics } from './metrics.ts';
import { createChannels } from './monitoring/channels/channels.ts';
import { IncidentEntity } from './monitoring/incidents/incident.entity.ts';
import { type MonitoringParts, monitoringHandlers, monitoringRules } from './monitoring/monitoring.handlers.ts';
import { MonitorEntity } from './monitoring/monitors/monitor.entity.ts';
import { NotificationEntity } from './monitoring/notifications/notification.entity.ts';
import { ProviderEntity } from './monitoring/providers/provider.entity.ts';
import { parseRanges } from './net/addresses.ts';
import type { Net } from './net/resolve.ts';
import type { Tracer } from './trace.ts';
import { WebsiteEntity } from './websites/website.entity.ts';
import { websiteRules } from './websites/website.rules.ts';
import { websiteHandlers } from './websites/websites.handlers.ts';

/** What the features store. */
export const entities = [
  UserEntity,
  SessionEntity,
  ApiKeyEntity,
  WebsiteEntity,
  MonitorEntity,
  IncidentEntity,
  ProviderEntity,
  NotificationEntity,
];

export interface AppParts {
  config: Pick<
    Config,
    | 'rateLimitPerMinute'
    | 'trustedProxies'
    | 'corsOrigins'
    | 'maxWebsites'
    | 'maxMonitors'
    | 'maxProviders'
    | 'signupOpen'
    | 'delivery'
    | 'netAllow'
    | 'metrics'
  >;
  database: Database;
  limiters: Limiters;
  /** Newest first. */
  secretKeys: Buffer[];
  /** The service as seen from outside, without a slash at the end. */
  publicUrl: string;
  log: Logger;
  metrics: Metrics;
  /** Absent: nothing is recorded. */
  tracer?: Tracer | undefined;
  /** What /metrics shows, where that is more than this process counts. */
  figures?: Figures;
  /** Instead of the network that the settings describe. */
  net?: Net;
}

/** Both APIs, their docs and the health checks on one Koa. */
export async function createApp({
  config,
  database,
  limiters,
  secretKeys,
  publicUrl,
  log,
  metrics,
  tracer,
  figures = metrics.registry,
  net = { allow: parseRanges(config.netAllow) },
}: AppParts): Promise<Koa> {
  const isTrusted = proxyAddr.compile(config.trustedProxies);
  const parts: ApiParts = {
    database,
    authenticator: await Authenticator.create(database, log),
    rateLimits: new RateLimits(config.rateLimitPerMinute, limiters),
    sessionCookie: new SessionCookie(publicUrl),
    secretKeys,
    publicUrl,
    addressOf: (ctx) => proxyAddr(ctx.req, isTrusted),
  };
  const sessions = sessionHandlers({ database, signIn: new SignIn(database, limiters), signupOpen: config.signupOpen });
  const monitors: MonitoringParts = {
    sessions,
    maxMonitors: config.maxMonitors,
    maxProviders: config.maxProviders,
    netAllowed: net.allow,
    slackHosts: config.delivery.slackHosts,
    vault: new Vault(secretKeys),
    channels: createChannels(config.delivery, net),
    limiters,
  };
  const apis: Api[] = [
    // The longer prefix first: /api/v1/… is under /api too.
    { root: '/api/v1', document: asDocument(websites), handlers: websiteHandlers({ ...config, limiters }), rules: websiteRules },
    { root: '/api', document: asDocument(monitoring), handlers: monitoringHandlers(monitors), rules: monitoringRules(monitors) },
  ];
  const app = new Koa();
  app.use(nameRequests);
  app.use(watchRequests(log, metrics, tracer));
  app.use(allowOrigins(config.corsOrigins, isSpecPath));
  app.use(answerProblems(publicUrl, log));
  for (const api of apis) app.use(await serveApi(api, parts));
  app.use(healthChecks(database).routes());
  // Without a token they would be open to everybody who reaches the APIs.
  if (config.metrics.token && config.metrics.port === undefined) app.use(metricsPage(figures, config.metrics.token));
  app.use(serveDocs(publicUrl));
  app.use(() => {
    throw new NotFound();
  });
  return app;
}

/** The bundles are checked by the linter, and too large for the compiler to see that they are OpenAPI. */
function asDocument(bundle: object): Document {
  return bundle as Document;
}

function healthChecks(database: Database): Router {
  const router = new Router();
  router.all('/healthz', (ctx) => {
    if (answersGet(ctx)) ctx.body = { status: 'ok' };
  });
  router.all('/readyz', async (ctx) => {
    if (!answersGet(ctx)) return;
    const ready = await database.isReady();
    ctx.status = ready ? 200 : 503;
    ctx.body = { status: ready ? 'ready' : 'not ready' };
  });
  return router;
}
