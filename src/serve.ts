import cluster from 'node:cluster';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Limiters, memoryLimiters } from './access/limiters.ts';
import { createOwner } from './access/owner.ts';
import { createApp } from './app.ts';
import { joinsOthers, tellReady } from './cluster.ts';
import { sharedFigures } from './cluster-metrics.ts';
import { BadSetting, type Config } from './config.ts';
import type { Database } from './db/database.ts';
import { serveMetrics } from './http/metrics-page.ts';
import { findPlace, type Listening, listen } from './http/server.ts';
import { createLog } from './log.ts';
import { createMetrics, type Metrics, watchProcess } from './metrics.ts';
import { startEngine } from './monitoring/engine/start-engine.ts';
import { openDatabase } from './open-database.ts';
import { onceToldToStop } from './stop.ts';
import { tidyMemoryAfterStart } from './tidy-memory.ts';
import type { Tracer } from './trace.ts';

/**
 * Runs the service until it is told to stop; with the engine in the same process unless another does that. The whole
 * service, or one worker of a cluster.
 */
export async function serve(config: Config, { withEngine }: { withEngine: boolean }): Promise<void> {
  const log = createLog(config);
  const place = await findPlace(config, joinsOthers());
  const { database, secretKeys } = await openDatabase(config, log);
  const limiters = await openLimiters(config, log);
  const key = await createOwner(database, config.owner);
  if (key) announceOwner(config, key, place.publicUrl);
  const metrics = createMetrics();
  const tracer = await openTracer(config, log);
  const figures = cluster.isWorker ? sharedFigures(metrics.registry) : metrics.registry;
  const app = await createApp({ config, database, limiters, secretKeys, publicUrl: place.publicUrl, log, metrics, tracer, figures });
  const stopShowing = await showMetrics(metrics, config, database, log);
  const server = await listen(place);
  server.answerWith(app.callback());
  const stopCleaning = cleanUpRegularly(database, log);
  const engine = withEngine ? startEngine({ config, database, secretKeys, log, metrics, tracer }) : undefined;
  log.info(config.publicUrl ? `Listening on port ${place.port} for ${server.url}` : `Listening on ${server.url}`);
  onceToldToStop(async (why) => {
    log.info(`${why}: answering what is under way, then stopping`);
    stopCleaning();
    await Promise.all([stopAnswering(server, why), engine?.stop()]);
    await Promise.all([stopShowing(), limiters.close(), database.close(), tracer?.close()]);
  }, log);
  tidyMemoryAfterStart(log);
  tellReady();
}

/** The client of Redis is loaded where it is used. */
async function openLimiters({ redisUrl }: Config, log: Logger): Promise<Limiters> {
  if (!redisUrl) return memoryLimiters();
  const { redisLimiters } = await import('./access/redis-limiters.ts');
  return redisLimiters(redisUrl, log);
}

const sendAwayMs = 2000;

/** A person at a terminal does not wait for load balancers to notice. */
async function stopAnswering(server: Listening, why: string) {
  server.sendAway();
  if (why !== 'SIGINT') await pause(sendAwayMs);
  await server.close();
}

/** Runs the engine alone, beside processes that serve. */
export async function work(config: Config): Promise<void> {
  const log = createLog(config);
  if (!config.databaseUrl)
    throw new BadSetting('worker needs DATABASE_URL: the embedded database serves one process, which runs the engine itself');
  const { database, secretKeys } = await openDatabase(config, log);
  const metrics = createMetrics();
  const tracer = await openTracer(config, log);
  const engine = startEngine({ config, database, secretKeys, log, metrics, tracer });
  const stopShowing = await showMetrics(metrics, config, database, log);
  log.info('The engine runs');
  onceToldToStop(async (why) => {
    log.info(`${why}: giving back what is not finished, then stopping`);
    await engine.stop();
    await Promise.all([stopShowing(), database.close(), tracer?.close()]);
  }, log);
  tidyMemoryAfterStart(log);
}

async function openTracer({ tracing }: Config, log: Logger): Promise<Tracer | undefined> {
  return tracing && (await import('./open-telemetry.ts')).openTelemetry(tracing, log);
}

/** On a port of their own, where the operator names one; for a cluster the primary sees to that. */
async function showMetrics(metrics: Metrics, config: Config, database: Database, log: Logger): Promise<() => Promise<void>> {
  watchProcess(metrics, database);
  const { port, ...rest } = config.metrics;
  if (port === undefined || cluster.isWorker) return async () => {};
  const server = await serveMetrics(metrics.registry, { ...rest, port }, log);
  return () => server.close();
}

const cleaningMs = 10 * 60 * 1000;

/** Ended sessions and kept answers go by themselves; it does no harm when several processes see to it. */
function cleanUpRegularly(database: Database, log: Logger): () => void {
  const clean = () =>
    database
      .atTheDoor((em) => em.execute('select door_forget_expired()', [], 'run'))
      .catch((error: unknown) => log.warn({ err: error }, 'Cleaning up failed; it is tried again later'));
  const timer = setInterval(clean, cleaningMs);
  void clean();
  return () => clearInterval(timer);
}

/** On standard output beside the log: the key is a secret, and secrets never go through the log. */
function announceOwner(config: Config, key: string, url: string) {
  if (config.owner.apiKey) return;
  console.log(`
This is the first start. The owner account is ${config.owner.email}, and its API key is

    ${key}

Keep it now: only a hash is stored, and it is not shown again. Try it:

    curl -H "Authorization: Bearer ${key}" ${url}/api/v1/websites
`);
}
