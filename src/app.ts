import { isIP } from 'node:net';
import Koa from 'koa';
import type { Document } from 'openapi-backend';
import type { Logger } from 'pino';
import proxyAddr from 'proxy-addr';
import monitoring from '../generated/monitoring.json' with { type: 'json' };
import type { operations } from '../generated/types/monitoring.ts';
import websites from '../generated/websites.json' with { type: 'json' };
import { keyHandlers, keyRules } from './accounts/keys.handlers.ts';
import { sessionHandlers } from './accounts/sessions.handlers.ts';
import { userHandlers } from './accounts/users.handlers.ts';
import { Authenticator } from './auth/authenticator.ts';
import { LinkSigner } from './auth/link-signer.ts';
import { SecretCipher } from './auth/secret-cipher.ts';
import { SignIn } from './auth/sign-in.ts';
import type { Config } from './config/config.ts';
import { type Database, databaseReadiness } from './db/database.ts';
import { runIdempotent } from './db/idempotency.ts';
import { type UserDatabase, userDatabase } from './db/user-database.ts';
import { docsRouter } from './docs/router.ts';
import { isSpecPath } from './docs/specs.ts';
import { UnknownPath } from './errors.ts';
import { type Api, type ApiDeps, serveApi } from './http/api.ts';
import { allowOrigins } from './http/cors.ts';
import { createHealthRouter } from './http/health.ts';
import { type MetricsSource, metricsEndpoint } from './http/metrics-endpoint.ts';
import { assignRequestId, handleProblems, recordRequests } from './http/middleware.ts';
import type { Handlers, Rules } from './http/operations.ts';
import { SessionCookie } from './http/session-cookie.ts';
import type { Limiters } from './limits/limiters.ts';
import { RateLimits } from './limits/rate-limits.ts';
import { createChannels } from './monitoring/channels/registry.ts';
import { HeartbeatReceiver } from './monitoring/heartbeats/receiver.ts';
import { monitoringHandlers, monitoringRules } from './monitoring/monitoring.handlers.ts';
import { Invitations } from './monitoring/recipients/invitations.ts';
import { Recipients } from './monitoring/recipients/recipients.ts';
import { parseRanges } from './net/addresses.ts';
import type { Net } from './net/resolve.ts';
import { confirmRecipientPage } from './pages/confirm-recipient.ts';
import type { Metrics } from './telemetry/metrics.ts';
import type { Tracer } from './telemetry/tracing.ts';
import { websiteRules } from './websites/website.rules.ts';
import { websiteHandlers } from './websites/websites.handlers.ts';

export interface AppDeps {
  config: Pick<
    Config,
    | 'rateLimitPerMinute'
    | 'trustedProxies'
    | 'proxyHops'
    | 'corsOrigins'
    | 'maxWebsites'
    | 'maxMonitors'
    | 'maxProviders'
    | 'signupOpen'
    | 'confirmRecipients'
    | 'delivery'
    | 'netAllow'
    | 'metrics'
  >;
  database: Database;
  limiters: Limiters;
  /** Newest first. */
  secretKeys: Buffer[];
  /** The URL of the service as clients see it, without a trailing slash. */
  publicUrl: string;
  log: Logger;
  metrics: Metrics;
  /** Without a tracer no spans are recorded. */
  tracer?: Tracer | undefined;
  /** What /metrics returns, if that is more than the metrics of this process. */
  metricsSource?: MetricsSource;
  /** Overrides the allowed ranges and the name resolution; used by tests. */
  net?: Net;
}

/** Builds the Koa application: both APIs, the docs and the health checks. */
export async function createApp({
  config,
  database,
  limiters,
  secretKeys,
  publicUrl,
  log,
  metrics,
  tracer,
  metricsSource = metrics.registry,
  net = { allow: parseRanges(config.netAllow) },
}: AppDeps): Promise<Koa> {
  const apiDeps: ApiDeps<UserDatabase> = {
    data: {
      forUser: (userId) => userDatabase(database, userId),
      runIdempotent: (request, work) => runIdempotent(database, request, secretKeys, work),
    },
    authenticator: await Authenticator.create(database, log),
    rateLimits: new RateLimits(config.rateLimitPerMinute, limiters),
    sessionCookie: new SessionCookie(publicUrl),
    publicUrl,
    clientAddress: clientAddressBehind(config),
  };
  const channels = createChannels(config.delivery, net);
  const { installationName: installation } = config.delivery;
  const recipients = new Recipients({
    isRequired: config.confirmRecipients,
    installation,
    publicUrl,
    signer: new LinkSigner(secretKeys),
    limiters,
    now: () => database.now(),
  });
  const handlers: Handlers<operations, UserDatabase> = {
    ...keyHandlers,
    ...sessionHandlers({ database, signIn: new SignIn(database, limiters) }),
    ...userHandlers({ database, signupOpen: config.signupOpen }),
    ...monitoringHandlers({
      maxMonitors: config.maxMonitors,
      maxProviders: config.maxProviders,
      netAllowed: net.allow,
      publicUrl,
      heartbeats: new HeartbeatReceiver(database),
      cipher: new SecretCipher(secretKeys),
      channels,
      limiters,
      recipients,
      now: () => database.now(),
    }),
  };
  const rules = validationRules({ netAllowed: net.allow, channels, now: () => database.now() });
  const apis: Api[] = [
    // The longer prefix comes first, because /api/v1/… also starts with /api.
    { basePath: '/api/v1', document: toDocument(websites), handlers: websiteHandlers({ ...config, limiters }), rules: rules.websites },
    { basePath: '/api', document: toDocument(monitoring), handlers, rules: rules.monitoring },
  ];
  const app = new Koa();
  app.use(assignRequestId);
  app.use(recordRequests(log, metrics, tracer));
  app.use(allowOrigins(config.corsOrigins, isSpecPath));
  app.use(handleProblems(publicUrl, log));
  for (const api of apis) app.use(await serveApi(api, apiDeps));
  app.use(createHealthRouter(() => databaseReadiness(database)).routes());
  // Without a token, everybody who can reach the APIs could read the metrics.
  if (config.metrics.token && config.metrics.port === undefined) app.use(metricsEndpoint(metricsSource, config.metrics.token));
  const invitations = new Invitations(database, recipients);
  app.use(confirmRecipientPage({ invitations, limiters, installation, clientAddress: apiDeps.clientAddress }));
  app.use(docsRouter(publicUrl));
  app.use(() => {
    throw new UnknownPath();
  });
  return app;
}

/**
 * Returns a function that finds the address of the client. Each proxy appends the address that it sees to X-Forwarded-For, so the
 * entries count from the right, one for each proxy. What is further left comes from the client, who could claim any address.
 */
function clientAddressBehind({ trustedProxies, proxyHops }: AppDeps['config']): (ctx: Koa.Context) => string {
  const isProxy = trustedProxies === 'any' ? () => true : proxyAddr.compile(trustedProxies);
  return ({ req, ip }) => {
    const address = proxyAddr(req, (sender, hop) => hop < proxyHops && isProxy(sender, hop));
    return isIP(address) ? address : ip;
  };
}

/** The validation rules of both APIs. The mock applies them as well. */
export function validationRules(deps: Parameters<typeof monitoringRules>[0]) {
  const monitoring: Rules<operations> = { ...keyRules(deps.now), ...monitoringRules(deps) };
  return { websites: websiteRules, monitoring };
}

/** The linter has checked the bundles. They are too large for the compiler to infer that they are OpenAPI documents. */
function toDocument(bundle: object): Document {
  return bundle as Document;
}
