// What the log says while PostgreSQL or DNS is away: a few lines about the outage, not one per loop, request or monitor.
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { test } from 'vitest';
import { parseRanges } from '../../src/net/addresses.ts';
import { lookUpAll } from '../../src/net/resolve.ts';
import { createMonitor } from '../monitoring/factories.ts';
import { jumpOnSignal } from '../support/clock-jump.ts';
import { startDnsServer } from '../support/dns-server.ts';
import type { RunningProcess } from '../support/process.ts';
import { startService } from '../support/service.ts';
import { wakeAll } from '../support/wake.ts';
import { startWebServer } from '../support/web-server.ts';
import { Deployment } from './support/deployment.ts';
import { createPostgres } from './support/postgres.ts';

type Line = { level: number; msg: string; reason?: string; since?: string };

/** Returns the warnings and errors of a log. */
function warnings(text: string): Line[] {
  const lines = text.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line): Line => JSON.parse(line)).filter(({ level }) => level >= 40);
}

test
  .runIf(process.env.TEST_DATABASE_URL)
  .concurrent(
    'while PostgreSQL is away, a process logs one line, one a minute, and one when it is back',
    { timeout: 120_000 },
    async ({ expect, onTestFinished }) => {
      const postgres = await createPostgres();
      onTestFinished(() => postgres.remove());
      const settings = { DATABASE_URL: postgres.url, MIGRATE_DATABASE_URL: postgres.ownerUrl, NODE_OPTIONS: jumpOnSignal(40) };
      const deployment = await Deployment.create(settings);
      onTestFinished(() => deployment.remove());
      const service = await deployment.serve();
      const [worker, idle] = [await deployment.startWorker(), await deployment.serve({}, ['serve', '--no-engine'])];
      const before = new Map([service, worker, idle].map((started) => [started, started.printed().length]));
      const newWarnings = (started: RunningProcess) => warnings(started.printed().slice(before.get(started)));
      const expectMessages = (messages: string[]) =>
        Promise.all(
          [service, worker, idle].map((started) =>
            expect.poll(() => newWarnings(started).map(({ msg }) => msg), { timeout: 30_000 }).toEqual(messages),
          ),
        );
      /** Requests fail for more than a second, and so do the loops of the worker. */
      const failForAWhile = async () => {
        for (let n = 0; n < 6; n++) {
          for (const { api } of [service, idle]) expect((await api.get('/api/monitors')).status).toBe(503);
          expect((await fetch(`${service.url}/readyz`)).status).toBe(503);
          await delay(250);
        }
      };
      const began = 'The database is unavailable: until it is back, requests get 503, no checks run and no alerts are sent';
      const still = 'The database is still unavailable';

      await postgres.crash();
      await failForAWhile();
      await expectMessages([began]);
      // Twice, the clock of each process jumps by 40 seconds: after the first jump, less than a minute has passed.
      for (const messages of [[began], [began, still]]) {
        for (const { child } of [service, worker, idle]) child.kill('SIGUSR2');
        await failForAWhile();
        await expectMessages(messages);
      }
      await postgres.start();
      await expectMessages([began, still, 'The database is available again']);
      for (const started of [service, worker, idle]) {
        expect(newWarnings(started)).toMatchObject([
          { reason: expect.stringMatching(/ECONNREFUSED|terminat/) },
          { level: 40, since: expect.stringMatching(/^\d{4}-.*Z$/) },
          {},
        ]);
        expect(started.printed().slice(before.get(started))).not.toContain('"stack"');
      }
    },
  );

// The log waits for 30 seconds until it says that checks run again.
const dnsTitle = 'while DNS is away, the log has one line for all monitors, and one when checks run again';

test.concurrent(dnsTitle, { timeout: 180_000 }, async ({ expect, onTestFinished }) => {
  const monitors = 30;
  const target = await startWebServer();
  onTestFinished(() => target.close());
  let isAway = false;
  const lookups: string[] = [];
  const dns = await startDnsServer((name) => {
    lookups.push(name);
    return isAway ? 'SERVFAIL' : '127.0.0.1';
  });
  onTestFinished(() => dns.close());
  let text = '';
  const log = pino({ level: 'warn' }, { write: (line: string) => (text += line) });
  const net = { allow: parseRanges(['127.0.0.0/8']), lookup: (name: string) => lookUpAll(name, dns.resolver) };
  const service = await startService({ netAllow: ['127.0.0.0/8'] }, { engine: true, log, net });
  onTestFinished(() => service.stop());
  const user = await service.createUser();
  const { port } = new URL(target.url);
  for (let n = 0; n < monitors; n++) await createMonitor(user, { url: `http://shop-${n}.example:${port}/` });
  const countUp = async () => {
    const { data } = (await user.api.get('/api/monitors?pageSize=100')).body;
    return data.filter(({ status }: { status: string }) => status === 'up').length;
  };
  const checkAll = async () => {
    await service.database.asEngine((em) => em.execute('update monitors set next_check_at = now()', [], 'run'));
    await wakeAll(service.database);
  };
  await expect.poll(countUp, { timeout: 30_000 }).toBe(monitors);
  isAway = true;
  for (let round = 0; round < 2; round++) {
    lookups.length = 0;
    // A check that is still running from before would not be repeated.
    const countTried = async () => {
      await checkAll();
      return new Set(lookups).size;
    };
    await expect.poll(countTried, { timeout: 60_000, interval: 1000 }).toBe(monitors);
    await expect.poll(() => warnings(text).length, { timeout: 30_000 }).toBe(1);
  }
  const began = { msg: 'Checks cannot run because of a local failure; no results are recorded', reason: 'no network here' };
  expect(warnings(text)).toEqual([expect.objectContaining(began)]);
  isAway = false;
  await checkAll();
  await expect.poll(() => warnings(text).length, { timeout: 60_000 }).toBe(2);
  expect(await countUp()).toBe(monitors);
  expect(warnings(text)[1]).toMatchObject({ msg: 'Checks run again after a local failure', since: expect.any(String) });
  expect(text).not.toContain('"stack"');
});
