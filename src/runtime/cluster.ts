// One service in several processes on one machine. Each worker runs all of `serve`, including the engine: the engine needs no
// leader, so every worker does its share of the checks, and a worker that dies loses only its own claims. Two workers handle 1.3
// to 1.75 times the requests per second of two processes behind nginx (`npm run bench:workers`, see docs/scale.md).
import cluster, { type Worker } from 'node:cluster';
import { setTimeout as delay } from 'node:timers/promises';
import { type Config, ConfigError, forgetOwnerLogin, workerVariable } from '../config/config.ts';
import { serveMetrics } from '../http/metrics-endpoint.ts';
import { createLog } from '../telemetry/log.ts';
import { clusterMetrics } from './cluster-metrics.ts';
import { clusterReadiness } from './cluster-readiness.ts';
import { onShutdown } from './shutdown.ts';

/** Limits how often a worker that cannot start is restarted. */
const restartDelayMs = 1000;

const ready = { type: 'sitekeeper:ready' };
const readyWorkers = new Set<Worker>();
const workerNumbers = new WeakMap<Worker, number>();

/** Starts the workers, replaces those that die, aggregates their metrics, and stops them together. */
export async function serveInWorkers(config: Config, count: number): Promise<void> {
  if (!config.databaseUrl)
    throw new ConfigError('DATABASE_URL: is required by --workers, because only one process can use the embedded database');
  const log = createLog(config, 'primary');
  if (!config.redisUrl)
    log.warn('REDIS_URL is not set: each worker counts limits on its own, so clients can exceed them several times over');
  // The workers accept connections themselves. A connection passed on by the primary would hang if the worker died before accepting it.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary({ serialization: 'advanced' }); // JSON would turn a metric that is NaN into null.
  const metricsSource = clusterMetrics();
  const checkReadiness = () => clusterReadiness([...readyWorkers]);
  const { port, ...rest } = config.metrics;
  const metricsServer = port === undefined ? undefined : await serveMetrics(metricsSource, { ...rest, port }, { log, checkReadiness });
  let boundPort = config.port;
  cluster.on('listening', (_, { port }) => {
    boundPort = port;
  });
  const start = (number: number) => startWorker(number, { PORT: String(boundPort) });
  // The first worker binds the port, migrates and creates the owner account. If that fails, it prints the reason itself.
  if (!(await start(1))) process.exit(1);
  forgetOwnerLogin(config);
  let stopping = false;
  cluster.on('exit', async (worker, code, signal) => {
    if (stopping) return;
    log.error({ worker_pid: worker.process.pid, code, signal }, 'A worker exited unexpectedly; starting a replacement');
    await delay(restartDelayMs);
    if (!stopping) void start(workerNumbers.get(worker) ?? 0);
  });
  onShutdown(async (reason) => {
    stopping = true;
    metricsServer?.drain();
    const codes = await Promise.all(Object.values(cluster.workers ?? {}).map((worker) => worker && stopWorker(worker, reason)));
    await metricsServer?.close();
    if (codes.some((code) => code)) throw new Error('Some workers exited before they finished their in-flight requests');
  }, log);
  await Promise.all(Array.from({ length: count - 1 }, (_, index) => start(index + 2)));
  if (!stopping) log.info(`${count} workers are ready`);
}

/** Whether other workers already listen on the port. */
export function sharesPort(): boolean {
  return (cluster.worker?.id ?? 1) > 1;
}

/** Tells the primary that this worker is serving, and can be asked to stop. */
export function reportReady(): void {
  if (!cluster.isWorker) return;
  process.send?.(ready);
  // Node ends a worker whose primary has died, but not once the primary has released the port.
  process.once('disconnect', () => process.exit());
}

/** Resolves with true once the worker is ready, or with false if it has exited before. */
function startWorker(number: number, settings: Record<string, string>): Promise<boolean> {
  const worker = cluster.fork({ ...settings, [workerVariable]: String(number) });
  workerNumbers.set(worker, number);
  worker.on('error', () => {}); // A message to a worker that has exited fails. The 'exit' event is handled below.
  return new Promise((resolve) => {
    worker.on('message', ({ type }: { type?: string }) => {
      if (type !== ready.type) return;
      readyWorkers.add(worker);
      resolve(true);
    });
    worker.once('exit', () => {
      readyWorkers.delete(worker);
      resolve(false);
    });
  });
}

/** Resolves with the exit code. A worker that was not ready yet is killed. One that was killed by others has failed. */
function stopWorker(worker: Worker, reason: string): Promise<number> {
  const isReady = readyWorkers.has(worker);
  return new Promise((resolve) => {
    worker.once('exit', (code: number | null) => resolve(code ?? (isReady ? 1 : 0)));
    if (!isReady) return worker.process.kill();
    worker.send({ type: 'sitekeeper:stop', reason });
    return releasePort(worker);
  });
}

/**
 * Closes the primary's copy of the port. While it is open, clients can connect although no worker accepts them any more. Node
 * closes it when the primary disconnects the workers, and forgets them. They stay connected until they exit, and report metrics.
 */
function releasePort(worker: Worker) {
  worker.disconnect();
  if (cluster.workers) cluster.workers[worker.id] = worker;
}
