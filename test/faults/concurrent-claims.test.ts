// Many workers that claim overdue monitors at the same time.
import { afterAll, beforeAll, expect } from 'vitest';
import { queryInTransaction } from '../../src/db/statement.ts';
import { claimFairly, leaseMs } from '../../src/monitoring/engine/claim.ts';
import { reopen } from '../support/database.ts';
import { guarantee } from '../support/guarantee.ts';
import { lengthOf } from '../support/length.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { createMonitors } from './support/create-monitors.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

const monitors = lengthOf({ short: 20_000, long: 100_000 });

guarantee(
  22,
  `Four workers on ${monitors.toLocaleString('en')} overdue monitors claim all of them, and none twice`,
  async () => {
    await createMonitors(service.database, user.id, 'https://%.example', monitors);
    const countDue = () =>
      service.database.asEngine((em) =>
        em.execute<{ count: number }[]>('select count(*)::int as count from monitors where next_check_at <= now()'),
      );
    await expect.poll(async () => (await countDue())[0]?.count, { timeout: 20_000, interval: 500 }).toBe(monitors);
    const workers = await Promise.all([1, 2, 3, 4].map(() => reopen(service.database)));
    const start = performance.now();
    const claimed = await Promise.all(
      workers.map(async (worker) => {
        const ids: number[] = [];
        // Later, the first claims would expire and could be claimed again.
        while (performance.now() - start < leaseMs({ timeoutSeconds: 10 }) - 1000) {
          const { claims } = await worker.asEngine((em) =>
            claimFairly(queryInTransaction(em), { freeSlots: 500, running: [], afterUserId: 0 }),
          );
          if (claims.length === 0) break;
          for (const { id } of claims) ids.push(id);
        }
        return ids;
      }),
    );
    const seconds = (performance.now() - start) / 1000;
    await Promise.all(workers.map((worker) => worker.close()));
    const all = claimed.flat();
    expect([all.length, new Set(all).size]).toEqual([monitors, monitors]);
    expect(Math.min(...claimed.map((ids) => ids.length))).toBeGreaterThan(0); // All four took part.
    return `${all.length} claims in ${seconds.toFixed(1)} s (${claimed.map((ids) => ids.length).join(', ')}), none twice`;
  },
  120_000,
);
