// The metrics of all workers as one, whoever is asked: each worker counts for itself, the primary gathers.
import cluster from 'node:cluster';
import { AggregatorRegistry, type Registry } from 'prom-client';
import { TryLater } from './errors.ts';
import type { Figures } from './http/metrics-page.ts';

const wanted = { type: 'sitekeeper:figures-wanted' };
type Told = { type: 'sitekeeper:figures'; figures: string | undefined };

/** For the primary: what all workers count, summed up or as each metric says; for those who ask here, and for workers. */
export function figuresOfWorkers(): Figures {
  const gathered = new AggregatorRegistry();
  // While a worker dies or is stuck, its answer never comes.
  const read = () => gathered.clusterMetrics().catch(() => undefined);
  cluster.on('message', async (worker, { type }: { type?: string }) => {
    if (type !== wanted.type) return;
    const told: Told = { type: 'sitekeeper:figures', figures: await read() };
    if (worker.isConnected()) worker.send(told);
  });
  return { contentType: gathered.contentType, metrics: async () => orLater(await read()) };
}

/** For a worker: hands its own figures to the primary, and reads those of all workers there. */
export function sharedFigures(registry: Registry): Figures {
  AggregatorRegistry.setRegistries(registry);
  const { contentType } = new AggregatorRegistry(); // answers the primary from now on
  let waiting: ((figures: string | undefined) => void)[] = [];
  process.on('message', ({ type, figures }: Partial<Told>) => {
    if (type !== 'sitekeeper:figures') return;
    for (const resolve of waiting) resolve(figures);
    waiting = [];
  });
  return {
    contentType,
    async metrics() {
      const told = new Promise<string | undefined>((resolve) => waiting.push(resolve));
      process.send?.(wanted);
      return orLater(await told);
    },
  };
}

function orLater(figures: string | undefined): string {
  if (figures === undefined) throw new TryLater('unavailable', 'Not every worker has told its figures. Try again in 2 seconds.', 2);
  return figures;
}
