import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deleteUser } from '../../src/accounts/users.ts';
import { createMonitor } from '../monitoring/factories.ts';
import { sendDuringTransaction } from '../support/database.ts';
import { startService, type TestService } from '../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

// Deleting a row locks the row, then its user, whose counters change. Deleting a user locks the user, then the rows. PostgreSQL ends
// the deadlock by rejecting the statement that has waited for a second. It cannot measure that second under faketime.
describe.runIf(process.env.TEST_DATABASE_URL)('a deadlock', { timeout: 60_000 }, () => {
  test('does not keep an account from being deleted', async () => {
    const user = await service.createUser();
    const { id } = await createMonitor(user);
    await sendDuringTransaction(
      service.database,
      user.id,
      (em) => em.execute('select from monitors where id = ? for update', [id]),
      () => deleteUser(service.database, user.id),
      (em) => em.execute('delete from monitors where id = ?', [id]),
    );
    const remaining = service.database.asUser(user.id, (em) => em.execute('select id from users union all select id from monitors'));
    expect(await remaining).toEqual([]);
  });

  test('does not make a request fail: it is repeated', async () => {
    const user = await service.createUser();
    const { id, path } = await createMonitor(user);
    const { status } = await sendDuringTransaction(
      service.database,
      user.id,
      (em) => em.execute('select from users where id = ? for update', [user.id]),
      () => user.api.delete(path),
      // The repeated request can make this the statement that is rejected.
      (em) => em.execute('update monitors set friendly_name = friendly_name where id = ?', [id]).catch(() => {}),
    );
    expect(status).toBe(200);
    expect((await user.api.get(path)).status).toBe(404);
  });
});
