// One service in several processes on one machine. Each worker is a whole `serve`, engine included: the engine knows no
// leader, so every worker takes its share of the checks, and one that dies takes only its own claims along.
import cluster, { type Worker } from 'node:cluster';
import { setTimeout as pause } from 'node:timers/promises';
import { figuresOfWorkers } from './cluster-metrics.ts';
import { BadSetting, type Config } from './config.ts';
import { serveMetrics } from './http/metrics-page.ts';
import { createLog } from './log.ts';
import { onceToldToStop } from './stop.ts';

/** A worker that cannot live is not started again and again without a breath. */
const breathMs = 1000;

const ready = { type: 'sitekeeper:ready' };
const answering = new Set<Worker>();

/** Starts the workers, replaces those that die, gathers their metrics, and stops them together. */
export async function serveInWorkers(config: Config, count: number): Promise<void> {
  if (!config.databaseUrl) throw new BadSetting('--workers needs DATABASE_URL: the embedded database serves one process');
  const log = createLog(config);
  if (!config.redisUrl) log.warn('Without REDIS_URL each worker counts limits for itself: callers may have several times as much');
  // The workers accept by themselves. Handed out by the primary, a connection would hang if its worker dies just then.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary({ serialization: 'advanced' }); // as JSON, a figure that is no number would arrive as null
  const figures = figuresOfWorkers();
  const { port, ...rest } = config.metrics;
  const page = port === undefined ? undefined : await serveMetrics(figures, { ...rest, port }, log);
  let bound = config.port;
  cluster.on('listening', (_, { port }) => {
    bound = port;
  });
  const start = () => startWorker({ PORT: String(bound) });
  // The first one takes the port, migrates and makes the owner; where it cannot, it has said why.
  if (!(await start())) process.exit(1);
  let stopping = false;
  cluster.on('exit', async (worker, code, signal) => {
    if (stopping) return;
    log.error({ pid: worker.process.pid, code, signal }, 'A worker has died; another takes its place');
    await pause(breathMs);
    if (!stopping) void start();
  });
  onceToldToStop(async (why) => {
    stopping = true;
    const codes = await Promise.all(Object.values(cluster.workers ?? {}).map((worker) => worker && stopWorker(worker, why)));
    await page?.close();
    if (codes.some((code) => code)) throw new Error('Not every worker could finish what was under way');
  }, log);
  await Promise.all(Array.from({ length: count - 1 }, start));
  if (!stopping) log.info(`${count} workers answer`);
}

/** Whether this process joins others that listen on the port already. */
export function joinsOthers(): boolean {
  return (cluster.worker?.id ?? 1) > 1;
}

/** Told by a worker, once it can be told to stop. */
export function tellReady(): void {
  process.send?.(ready);
}

/** Resolves when it answers, or has ended before. */
function startWorker(settings: Record<string, string>): Promise<boolean> {
  const worker = cluster.fork(settings);
  worker.on('error', () => {}); // of a message to one that is gone; its end is seen by itself
  return new Promise((resolve) => {
    worker.on('message', ({ type }: { type?: string }) => {
      if (type !== ready.type) return;
      answering.add(worker);
      resolve(true);
    });
    worker.once('exit', () => {
      answering.delete(worker);
      resolve(false);
    });
  });
}

/** Resolves with its exit code; null where it had not begun to answer and was just ended. */
function stopWorker(worker: Worker, why: string): Promise<number | null> {
  return new Promise((resolve) => {
    worker.once('exit', resolve);
    if (answering.has(worker)) worker.send({ type: 'sitekeeper:stop', why });
    else worker.process.kill();
  });
}
