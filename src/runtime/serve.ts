import cluster from 'node:cluster';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { createOwner } from '../accounts/owner.ts';
import { createApp } from '../app.ts';
import { expiredRows } from '../auth/expired-rows.ts';
import { type Config, forgetOwnerLogin } from '../config/config.ts';
import { startBatchJobs } from '../db/batch-jobs.ts';
import { databaseReadiness } from '../db/database.ts';
import { chooseAddress } from '../http/port.ts';
import { type HttpServer, listen } from '../http/server.ts';
import { shareFairly } from '../limits/fair-database.ts';
import { type Limiters, memoryLimiters } from '../limits/limiters.ts';
import { startEngine } from '../monitoring/engine/start-engine.ts';
import { createLog } from '../telemetry/log.ts';
import { registerRedisMetric } from '../telemetry/metrics.ts';
import { reportReady, sharesPort } from './cluster.ts';
import { workerMetrics } from './cluster-metrics.ts';
import { reportReadiness } from './cluster-readiness.ts';
import { startCommandService } from './command-service.ts';
import { openDatabase } from './open-database.ts';
import { onShutdown } from './shutdown.ts';
import { releaseStartupMemory } from './startup-memory.ts';
import { startTelemetry } from './telemetry.ts';

/** Runs the service, or one worker of a cluster, until it is stopped. */
export async function serve(initial: Config, { withEngine }: { withEngine: boolean }): Promise<void> {
  const log = createLog(initial, 'serve');
  const address = await chooseAddress(initial, sharesPort());
  const { database: opened, secretKeys } = await openDatabase(initial, log);
  const config = forgetOwnerLogin(initial);
  const database = shareFairly(opened);
  const limiters = await openLimiters(config, log);
  const key = await createOwner(database, config.owner);
  if (key) announceOwner(config, key, address.publicUrl);
  const telemetry = await startTelemetry('serve', config, database, log);
  const { metrics, tracer } = telemetry;
  if (limiters.isRedisAvailable) registerRedisMetric(metrics, limiters.isRedisAvailable);
  const metricsSource = cluster.isWorker ? workerMetrics(metrics.registry) : metrics.registry;
  const app = await createApp({
    config,
    database,
    limiters,
    secretKeys,
    publicUrl: address.publicUrl,
    log,
    metrics,
    tracer,
    metricsSource,
  });
  const stopExpiry = startBatchJobs([expiredRows(database)], { intervalMs: expiryIntervalMs, log });
  const engine = withEngine ? await startEngine({ config, database, secretKeys, log, metrics, tracer }) : undefined;
  const commandService = config.databaseUrl ? undefined : await startCommandService({ database: opened, secretKeys }, config, log);
  // Nothing is awaited between this and onShutdown: a signal must not end a process that has accepted requests.
  const server = await listen(address);
  server.setHandler(app.callback());
  log.info(config.publicUrl ? `Listening on port ${address.port} for ${server.url}` : `Listening on ${server.url}`);
  onShutdown(async (reason) => {
    log.info(`${reason}: finishing in-flight requests, then shutting down`);
    telemetry.drain();
    await Promise.all([stopServing(server, reason), engine?.stop(), stopExpiry(), commandService?.close()]);
    await Promise.all([telemetry.close(), limiters.close(), database.close()]);
  }, log);
  releaseStartupMemory(log);
  reportReadiness(() => databaseReadiness(opened));
  reportReady();
}

/** Loads the Redis client only if it is used. */
async function openLimiters({ redisUrl }: Config, log: Logger): Promise<Limiters> {
  if (!redisUrl) return memoryLimiters();
  const { redisLimiters } = await import('../limits/redis-limiters.ts');
  return redisLimiters(redisUrl, log);
}

/** How long load balancers have to notice that /readyz fails. */
const drainMs = 2000;

/**
 * How long a connection can be idle before a process that is shutting down closes it. It is longer than a proxy keeps idle
 * connections (1 second in deploy/nginx.conf), so that no request is sent on a connection that is being closed.
 */
const maxIdleMs = 2000;

/** Gives load balancers time to notice, and then closes the server. After Ctrl+C nobody waits for that. */
async function stopServing(server: HttpServer, reason: string) {
  if (reason === 'SIGINT') return server.close();
  server.drain();
  await delay(drainMs);
  await server.close(maxIdleMs);
}

const expiryIntervalMs = 10 * 60 * 1000;

/** Prints the key to standard output, because secrets must not go through the log. */
function announceOwner(config: Config, key: string, url: string) {
  if (config.owner.apiKey) return;
  console.log(`
This is the first start. The owner account is ${config.owner.email}. Its API key is

    ${key}

Save it now. Only a hash is stored, so it cannot be shown again. Try it:

    curl -H "Authorization: Bearer ${key}" ${url}/api/v1/websites
`);
}
