// What is deleted while its check is under way leaves nothing behind, and does not disturb the others.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deleteUser } from '../../../src/accounts/users.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { scripts, startWebServer, type WebServer } from '../../support/web-server.ts';

let service: TestService;
let target: WebServer;

beforeAll(async () => {
  service = await startService({ netAllow: ['127.0.0.0/8'] }, { engine: true });
  target = await startWebServer();
});
afterAll(async () => {
  await service.stop();
  await target.close();
});

const createMonitor = async (user: TestUser, path: string) =>
  (await user.api.post('/api/monitors', { json: { friendly_name: 'M', url: target.url + path } })).body.data.id;

test.each([
  ['monitor', (user: TestUser, id: number) => user.api.delete(`/api/monitors/${id}`)],
  ['user', (user: TestUser) => deleteUser(service.database, user.id)],
])('a %s', async (what, remove) => {
  const [user, witness] = [await service.createUser(), await service.createUser()];
  const released = Promise.withResolvers<void>();
  target.script = async (request, response) => {
    await released.promise;
    scripts.accept('broken', 503)(request, response);
  };
  const id = await createMonitor(user, `/${what}/deleted`);
  const witnessed = await createMonitor(witness, `/${what}/kept`);
  const checked = () => [...new Set(target.requests.map(({ path }) => path))].filter((path) => path.startsWith(`/${what}/`));
  await expect.poll(checked, { timeout: 20_000 }).toHaveLength(2);
  await remove(user, id);
  released.resolve();
  await expect
    .poll(async () => (await witness.api.get(`/api/monitors/${witnessed}`)).body.data.last_error, { timeout: 20_000 })
    .toBe('HTTP 503');
  const left = await service.database.asEngine((em) =>
    em.execute(
      `select monitor_id from check_hours where user_id = ? union all select monitor_id from incidents where user_id = ?
       union all select id from monitors where user_id = ?`,
      [user.id, user.id, user.id],
    ),
  );
  expect(left).toEqual([]);
});
