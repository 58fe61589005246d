// Two processes behind nginx, restarted one after the other under load.
import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { Deployment, type RunningService } from '../faults/support/deployment.ts';
import { send } from '../faults/support/load.ts';
import { createDatabase, urlOf } from '../support/database.ts';
import { findNginx, type NginxProxy, startNginx } from './nginx.ts';

const nginx = findNginx();
const missing = [!nginx && 'nginx', !process.env.TEST_DATABASE_URL && 'TEST_DATABASE_URL'].filter(Boolean).join(' and ');
if (missing && process.env.CI) throw new Error(`The test of the rolling restart requires ${missing}.`);
if (missing) console.warn(`The rolling restart is not tested, because that requires ${missing}.`);

describe.skipIf(missing)('a rolling restart behind nginx', () => {
  let database: Database;
  let deployment: Deployment;
  let proxy: NginxProxy;
  const services: RunningService[] = [];

  beforeAll(async () => {
    database = await createDatabase();
    deployment = await Deployment.create({ DATABASE_URL: urlOf(database), TRUSTED_PROXIES: 'loopback' });
    services.push(await deployment.serve(), await deployment.serve());
    proxy = await startNginx(
      String(nginx),
      services.map(({ url }) => Number(new URL(url).port)),
    );
  });
  afterAll(async () => {
    await proxy?.stop();
    await deployment?.remove();
    await database?.close();
  });

  test('loses no request and repeats no write', async () => {
    const load = startLoad(proxy.url, deployment.key);
    for (const [index, old] of services.entries()) {
      await delay(1000);
      old.child.kill('SIGTERM');
      expect(await old.ended).toBe(0);
      await delay(500); // The other process serves alone for a moment.
      services[index] = await deployment.serve({ PORT: new URL(old.url).port });
    }
    await delay(1000);
    const { failed, responses, created } = await load.stop();
    expect([failed, await proxy.readErrorLog()]).toEqual([[], expect.anything()]);
    expect(responses).toBeGreaterThan(100);
    const rows = await database.asUser(1, (em) => em.execute<{ domain: string }[]>('select domain from websites order by domain'));
    expect(rows.map(({ domain }) => domain)).toEqual(created.toSorted());
  });
});

/** Sends reads and writes over persistent connections. Writes have an Idempotency-Key, so that nginx can repeat them. */
function startLoad(url: string, key: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const outcome = { responses: 0, failed: [] as string[], created: [] as string[] };
  let sent = 0;
  let stopped = false;
  const clients = Array.from({ length: 8 }, async () => {
    while (!stopped) {
      const domain = `site-${++sent}.example`;
      const isWrite = sent % 2 === 0;
      const write = { method: 'POST', form: `domain=${domain}`, headers: { 'Idempotency-Key': domain } };
      const { status, body } = await send(agent, `${url}/api/v1/websites`, { key, ...(isWrite && write) });
      outcome.responses++;
      if (status !== (isWrite ? 201 : 200)) outcome.failed.push(`${isWrite ? 'POST' : 'GET'} ${domain}: ${status} ${body.slice(0, 200)}`);
      else if (isWrite) outcome.created.push(domain);
      await delay(10);
    }
  });
  return {
    async stop() {
      stopped = true;
      await Promise.all(clients);
      agent.destroy();
      return outcome;
    },
  };
}
