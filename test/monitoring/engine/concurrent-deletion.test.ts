import { afterAll, beforeAll, expect, test } from 'vitest';
import { deleteUser } from '../../../src/accounts/users.ts';
import { purgeAll, readHistoryRows } from '../../support/check-history.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { wakeAll } from '../../support/wake.ts';
import { scripts, startWebServer, type WebServer } from '../../support/web-server.ts';
import { createMonitor } from '../factories.ts';

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

test.each([
  ['monitor', (user: TestUser, monitorPath: string) => user.api.delete(monitorPath)],
  ['user', (user: TestUser) => deleteUser(service.database, user.id)],
])('a %s that is deleted during a check leaves no rows and does not affect other checks', async (what, deleteIt) => {
  const [user, other] = [await service.createUser(), await service.createUser()];
  const responding = Promise.withResolvers<void>();
  target.script = async (request, response) => {
    await responding.promise;
    scripts.respond('broken', 503)(request, response);
  };
  const deleted = await createMonitor(user, { url: `${target.url}/${what}/deleted` });
  const kept = await createMonitor(other, { url: `${target.url}/${what}/kept` });
  await service.database.asEngine((em) =>
    em.execute('update monitors set next_check_at = now() where id in (?, ?)', [deleted.id, kept.id], 'run'),
  );
  await wakeAll(service.database);
  const checkedPaths = () => [...new Set(target.requests.map(({ path }) => path))].filter((path) => path.startsWith(`/${what}/`));
  await expect.poll(checkedPaths, { timeout: 20_000 }).toHaveLength(2);
  await deleteIt(user, deleted.path);
  responding.resolve();
  await expect.poll(async () => (await other.api.get(kept.path)).body.data.last_error, { timeout: 20_000 }).toBe('HTTP 503');
  const remaining = await service.database.asEngine((em) =>
    em.execute(`select monitor_id from incidents where user_id = ? union all select id from monitors where user_id = ?`, [
      user.id,
      user.id,
    ]),
  );
  expect(remaining).toEqual([]);
  // What remembers the deletion is deleted with the history of the monitor. Here there is none, also before that.
  const { database } = service;
  const history = await readHistoryRows(database, { userId: user.id });
  expect(history.filter(({ table }) => table !== 'deleted_monitors')).toEqual([]);
  await purgeAll(database);
  expect(await readHistoryRows(database, { userId: user.id })).toEqual([]);
});
