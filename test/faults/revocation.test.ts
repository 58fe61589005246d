import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import { urlOf } from '../support/database.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { fault } from './fault.ts';
import { Deployment } from './support/deployment.ts';
import { send } from './support/load.ts';
import { type DatabaseProxy, startProxy } from './support/proxy.ts';

let one: TestService;
let user: TestUser;
let proxy: DatabaseProxy;
let deployment: Deployment;

beforeAll(async () => {
  one = await startService();
  user = await one.createUser();
  proxy = await startProxy(urlOf(one.database));
  deployment = await Deployment.create({ DATABASE_URL: urlOf(one.database) });
});
afterAll(async () => {
  await deployment?.remove();
  await proxy?.close();
  await one?.stop();
});

fault(
  21,
  'A revoked key: refused within 1 s by all processes, within 5 s with notifications cut',
  async () => {
    const serve = (settings = {}) => deployment.serve(settings, ['serve', '--no-engine']);
    const [two, three, deaf] = await Promise.all([serve(), serve(), serve({ DATABASE_URL: proxy.url })]);
    // The connection that hears notices stays open, and nothing comes through any more.
    proxy.silence(/sitekeeper listener/);
    const { body } = await user.api.post('/api/keys', { json: { name: 'Short-lived', scopes: ['monitors:read'] } });
    const { id, key } = body.data;
    const processes = [one, two, three, deaf];
    const status = async ({ url }: { url: string }) => (await send(undefined, `${url}/api/monitors`, { key })).status;
    expect(await Promise.all(processes.map(status))).toEqual([200, 200, 200, 200]);
    await user.api.delete(`/api/keys/${id}`);
    const start = performance.now();
    const refusedAfterMs = await Promise.all(
      processes.map(async (service) => {
        // A request that began in time counts, however long its answer takes.
        for (;;) {
          const ms = performance.now() - start;
          if ((await status(service)) === 401) return Math.round(ms);
          if (ms > 15_000) throw new Error('the key is still taken');
          await pause(50);
        }
      }),
    );
    const cutMs = refusedAfterMs.pop() ?? 0;
    // With room for a machine that stands still for a moment, but not for the 4 seconds that a key is believed unasked.
    expect(Math.max(...refusedAfterMs)).toBeLessThan(3500);
    expect(cutMs).toBeLessThan(10_000);
    return `refused after ${refusedAfterMs.join(', ')} ms; with notifications cut after ${cutMs} ms`;
  },
  120_000,
);
