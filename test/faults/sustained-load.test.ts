// The service under sustained load.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { createDatabase, urlOf } from '../support/database.ts';
import { guarantee } from '../support/guarantee.ts';
import { lengthOf } from '../support/length.ts';
import { Deployment, type RunningService } from './support/deployment.ts';
import { startLoad } from './support/load.ts';
import { memoryOf, reportMemoryOnSignal } from './support/memory.ts';

const loadSeconds = Number(process.env.FAULTS_LOAD_SECONDS ?? lengthOf({ short: 18, long: 90 }));

let database: Database;
let deployment: Deployment;

beforeAll(async () => {
  database = await createDatabase();
  deployment = await Deployment.create({ DATABASE_URL: urlOf(database) });
});
afterAll(async () => {
  await deployment?.remove();
  await database?.close();
});

guarantee(
  1,
  'Under mixed load at 70 % of its capacity, the service returns no 5xx and its memory does not grow',
  async () => {
    const service = await deployment.serve({ NODE_OPTIONS: reportMemoryOnSignal }, ['serve', '--no-engine']);
    const capacity = await measureCapacity(service);
    const load = startLoad(service.url, deployment.key, { perSecond: capacity * 0.7, deleteCreated: true });
    const heaps: number[] = [];
    for (let third = 1; third <= 3; third++) {
      await delay((loadSeconds / 3) * 1000);
      heaps.push((await memoryOf(service)).heap);
    }
    const { statuses, responses, slowest } = await load.stop();
    const [, second = 0, last = 0] = heaps;
    expect(Object.keys(statuses).toSorted()).toEqual(['200', '201', '401', '404', '422']);
    // A leak of half a kilobyte per request would exceed this.
    expect(last - second).toBeLessThan(Math.max(3, ((responses / 3) * 500) / 1e6));
    return `${responses} requests in ${loadSeconds} s at 70 % of ${Math.round(capacity)}/s, slowest ${Math.round(slowest.ms)} ms; heap ${heaps.map((heap) => heap.toFixed(1)).join(', ')} MB`;
  },
  (loadSeconds + 60) * 1000,
);

/** Returns the responses per second without a rate limit, after a warm-up. */
async function measureCapacity({ url }: RunningService): Promise<number> {
  const load = startLoad(url, deployment.key, { deleteCreated: true });
  await delay(3000);
  const before = load.outcome.responses;
  await delay(3000);
  const after = load.outcome.responses;
  await load.stop();
  return (after - before) / 3;
}
