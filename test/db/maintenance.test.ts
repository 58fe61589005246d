import type { PGlite } from '@electric-sql/pglite';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startMaintenance } from '../../src/db/maintenance.ts';

const log = pino({ level: 'silent' });
/** The statements that were executed, and how many times the growth was measured. */
let executed: string[];
let measured: number;
let growth: { target: string; deadRows: number; age: number; walBytes: number }[];
let pglite: PGlite;

beforeEach(() => {
  vi.useFakeTimers();
  [executed, measured, growth] = [[], 0, []];
  pglite = { _runExclusiveTransaction: <T>(work: () => Promise<T>) => work() } as unknown as PGlite;
});
afterEach(() => void vi.useRealTimers());

const exec = (async (sql: string) => {
  if (sql.includes('pg_control_checkpoint')) measured++;
  else executed.push(sql);
  return [{ rows: growth }];
}) as unknown as PGlite['exec'];
const call = () => pglite._runExclusiveTransaction(async () => {});

test('runs at the start, whenever there was no call for half a second, and after 100 calls', async () => {
  const stop = await startMaintenance(pglite, exec, log);
  expect(measured).toBe(1);
  await vi.advanceTimersByTimeAsync(500);
  expect(measured).toBe(2);
  for (const runs of [3, 4]) {
    await call();
    await vi.advanceTimersByTimeAsync(499);
    expect(measured).toBe(runs - 1);
    await vi.advanceTimersByTimeAsync(1);
    expect(measured).toBe(runs);
  }
  for (let n = 0; n < 100; n++) await call();
  await vi.advanceTimersByTimeAsync(0);
  expect(measured).toBe(5);
  await stop();
  await call();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(measured).toBe(5);
});

test('does less while calls wait than while none does', async () => {
  growth = [
    { target: '', deadRows: 0, age: 0, walBytes: 5 * 1024 * 1024 },
    { target: 'few', deadRows: 100, age: 0, walBytes: 0 },
    { target: 'many', deadRows: 600, age: 0, walBytes: 0 },
  ];
  const stop = await startMaintenance(pglite, exec, log);
  expect(executed.splice(0)).toEqual(['checkpoint', 'vacuum few', 'vacuum many']);
  const release = Promise.withResolvers<void>();
  const waiting = pglite._runExclusiveTransaction(() => release.promise);
  await vi.advanceTimersByTimeAsync(500);
  expect(executed).toEqual(['vacuum many']);
  release.resolve();
  await waiting;
  await stop();
});
