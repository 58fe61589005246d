// What the log says while PostgreSQL or DNS is away: a few lines about the outage, not one per loop, request or monitor.
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { parseRanges } from '../../src/net/addresses.ts';
import { lookUpAll } from '../../src/net/resolve.ts';
import { createMonitor } from '../monitoring/factories.ts';
import { startDnsServer } from '../support/dns-server.ts';
import type { RunningProcess } from '../support/process.ts';
import { startService } from '../support/service.ts';
import { startWebServer } from '../support/web-server.ts';
import { Deployment } from './support/deployment.ts';
import { createPostgres } from './support/postgres.ts';

type Line = { level: number; msg: string; reason?: string; since?: string };

/** Returns the warnings and errors of a log. */
function warnings(text: string): Line[] {
  const lines = text.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line): Line => JSON.parse(line)).filter(({ level }) => level >= 40);
}

test.runIf(process.env.TEST_DATABASE_URL)(
  'while PostgreSQL is away, a process logs one line, one a minute, and one when it is back',
  { timeout: 240_000 },
  async () => {
    const postgres = await createPostgres();
    onTestFinished(() => postgres.remove());
    const deployment = await Deployment.create({ DATABASE_URL: postgres.url, MIGRATE_DATABASE_URL: postgres.ownerUrl });
    onTestFinished(() => deployment.remove());
    const service = await deployment.serve();
    const [worker, idle] = [await deployment.startWorker(), await deployment.serve({}, ['serve', '--no-engine'])];
    const before = new Map([service, worker, idle].map((started) => [started, started.printed().length]));
    const newWarnings = (started: RunningProcess) => warnings(started.printed().slice(before.get(started)));
    const outageMs = 75_000;

    const startMs = performance.now();
    await postgres.crash();
    let requests = 0;
    while (performance.now() - startMs < outageMs) {
      expect((await service.api.get('/api/monitors')).status).toBe(503);
      expect((await fetch(`${service.url}/readyz`)).status).toBe(503);
      requests++;
      await delay(1000);
    }
    await postgres.start();
    const last = (started: RunningProcess) => newWarnings(started).at(-1)?.msg;
    for (const started of [service, worker, idle])
      await expect.poll(() => last(started), { timeout: 60_000 }).toBe('The database is available again');

    expect(requests).toBeGreaterThan(5);
    for (const started of [service, worker, idle]) {
      const [began, ...others] = newWarnings(started);
      expect(began).toMatchObject({
        msg: 'The database is unavailable: until it is back, requests get 503, no checks run and no alerts are sent',
        reason: expect.stringMatching(/ECONNREFUSED|terminat/),
      });
      const still = { level: 40, msg: 'The database is still unavailable', since: expect.stringMatching(/^\d{4}-.*Z$/) };
      // A slow machine makes the outage longer.
      expect(others.slice(0, -1)).toEqual(others.slice(0, -1).map(() => expect.objectContaining(still)));
      expect(others.length).toBeGreaterThanOrEqual(2);
      expect(others.length).toBeLessThanOrEqual(2 + Math.floor((performance.now() - startMs - outageMs) / 60_000));
      expect(started.printed().slice(before.get(started))).not.toContain('"stack"');
    }
  },
);

test('while DNS is away, the log has one line for all monitors, and one when checks run again', { timeout: 180_000 }, async () => {
  const monitors = 30;
  const target = await startWebServer();
  onTestFinished(() => target.close());
  let isAway = true;
  const dns = await startDnsServer(() => (isAway ? 'SERVFAIL' : '127.0.0.1'));
  onTestFinished(() => dns.close());
  let text = '';
  const log = pino({ level: 'warn' }, { write: (line: string) => (text += line) });
  const net = { allow: parseRanges(['127.0.0.0/8']), lookup: (name: string) => lookUpAll(name, dns.resolver) };
  const service = await startService({ netAllow: ['127.0.0.0/8'] }, { engine: true, log, net });
  onTestFinished(() => service.stop());
  const user = await service.createUser();
  const { port } = new URL(target.url);
  for (let n = 0; n < monitors; n++) await createMonitor(user, { url: `http://shop-${n}.example:${port}/` });
  const list = async () => (await user.api.get('/api/monitors?pageSize=100')).body.data as { status: string; last_error: string | null }[];
  const count = async (test: (monitor: { status: string; last_error: string | null }) => boolean) => (await list()).filter(test).length;
  const isNotChecked = ({ last_error }: { last_error: string | null }) => last_error === 'not checked: DNS did not respond';
  await expect.poll(() => count(isNotChecked), { timeout: 30_000 }).toBe(monitors);
  await delay(15_000); // Each is tried again.
  const began = { msg: 'Checks cannot run because of a local failure; no results are recorded', reason: 'DNS did not respond' };
  expect(warnings(text)).toEqual([expect.objectContaining(began)]);
  isAway = false;
  await expect.poll(() => count(({ status }) => status === 'up'), { timeout: 60_000 }).toBe(monitors);
  await expect.poll(() => warnings(text).length, { timeout: 60_000 }).toBe(2);
  expect(warnings(text)[1]).toMatchObject({ msg: 'Checks run again after a local failure', since: expect.any(String) });
  expect(text).not.toContain('"stack"');
});
