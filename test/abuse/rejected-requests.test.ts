// Requests that are rejected must cost next to nothing.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, vi } from 'vitest';
import { generateKey } from '../../src/auth/api-key.ts';
import { guarantee } from '../support/guarantee.ts';
import { type AbusedService, startAbusedService } from './support/service.ts';

const requests = 3000;
let service: AbusedService;

beforeAll(async () => {
  // Without an engine nothing else uses the database.
  const preload = pathToFileURL(join(import.meta.dirname, 'support/count-transactions.mjs'));
  service = await startAbusedService({ users: 1, settings: { NODE_OPTIONS: `--import=${preload}` }, args: ['serve', '--no-engine'] });
});
afterAll(() => service?.remove());

/** Counts the transactions on the database of the service since its start. */
async function countTransactions(): Promise<number> {
  const source = inject('source');
  if ('server' in source) {
    const client = new pg.Client({ connectionString: source.server });
    await client.connect();
    // Each process reports its numbers at most once a second.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const { rows } = await client.query('select sum(xact_commit + xact_rollback)::int as count from pg_stat_database where datname = $1', [
      new URL(service.databaseUrl ?? '').pathname.slice(1),
    ]);
    await client.end();
    return rows[0].count;
  }
  const reports = () => [...service.printed().matchAll(/^transactions (\d+);$/gm)];
  const before = reports().length;
  service.child.kill('SIGUSR2');
  await vi.waitFor(() => expect(reports()).toHaveLength(before + 1), { timeout: 10_000 });
  return Number(reports().at(-1)?.[1]);
}

guarantee(
  11,
  'Of 3,000 requests with one unknown key, or to /readyz, fewer than 300 cost a transaction; of 3,000 with different ones, fewer than 1,500',
  async () => {
    const send = async (path: string, key: string) => {
      const response = await fetch(service.url + path, { headers: { Authorization: `Bearer ${key}` } });
      await response.arrayBuffer();
      return response.status;
    };
    let counted = 0;
    const countNew = async () => {
      const before = counted;
      counted = await countTransactions();
      return counted - before;
    };
    const flood = async (path: string, key: () => string) => {
      const statuses: Record<number, number> = {};
      for (let sent = 0; sent < requests; sent += 50) {
        for (const status of await Promise.all(Array.from({ length: 50 }, () => send(path, key()))))
          statuses[status] = (statuses[status] ?? 0) + 1;
      }
      return { statuses, transactions: await countNew() };
    };
    await expect.poll(async () => (await service.as(service.users[0]).get('/readyz')).status, { timeout: 30_000 }).toBe(200);
    const [user] = service.users;
    expect(await send('/api/monitors', user?.key ?? '')).toBe(200);

    await countNew();
    const one = generateKey();
    const repeated = await flood('/api/monitors', () => one);
    const unknown = await flood('/api/monitors', generateKey);
    const readiness = await flood('/readyz', () => one);
    // At most 600 unknown keys of one address are looked up per minute.
    expect(Object.keys(repeated.statuses)).toEqual(['401', '429']);
    expect(Object.keys(unknown.statuses)).toEqual(['429']);
    expect(Object.keys(readiness.statuses)).toEqual(['200']);
    for (const { transactions } of [repeated, readiness]) expect(transactions).toBeLessThan(requests / 10);
    // 600 for each minute that the flood takes. Other tests may use the same server.
    expect(unknown.transactions).toBeGreaterThan(0);
    expect(unknown.transactions).toBeLessThan(requests / 2);
    // A caller who is known is not affected by others at the same address.
    expect(await send('/api/monitors', user?.key ?? '')).toBe(200);
    return `${requests} requests each: one unknown key ${repeated.transactions} transactions, unknown keys ${unknown.transactions}, /readyz ${readiness.transactions}`;
  },
  300_000,
);
