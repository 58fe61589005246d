// A provider that is deleted while alerts are queued for it takes only its own along, not those of other users in the same transaction.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Query } from '../../../src/db/statement.ts';
import { queueEnds } from '../../../src/monitoring/alerts/ends.ts';
import { queueFailingNotices } from '../../../src/monitoring/alerts/notices.ts';
import { queueReminders } from '../../../src/monitoring/alerts/reminders.ts';
import { openIncidents } from '../../../src/monitoring/engine/record-incidents.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor, createProvider } from '../factories.ts';

// Several connections are needed.
describe.runIf(process.env.TEST_DATABASE_URL)('while a provider is deleted', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.stop());

  interface Assigned {
    user: TestUser;
    monitorId: number;
    providerId: number;
  }

  async function createAssigned(): Promise<Assigned> {
    const user = await service.createUser();
    const [monitor, provider] = [await createMonitor(user), await createProvider(user)];
    const json = { provider_id: provider.id, remind_every_seconds: 300 };
    await user.api.post(`${monitor.path}/notifications`, { json });
    await asEngine(
      `update monitors set status = 'down', first_failed_at = app_now() - interval '1 hour', first_cause = 'HTTP 503' where id = ?`,
      [monitor.id],
    );
    return { user, monitorId: monitor.id, providerId: provider.id };
  }

  const asEngine = (sql: string, parameters: unknown[]) => service.database.asEngine((em) => em.execute(sql, parameters, 'run'));
  const kindsOf = async ({ user, providerId }: Assigned) => {
    const rows = await service.database.asUser(user.id, (em) =>
      em.execute<{ kind: string }[]>('select kind from alerts where provider_id = ? order by id', [providerId]),
    );
    return rows.map(({ kind }) => kind);
  };

  /** Runs `queue` while the deletion is not committed. */
  async function deleteMeanwhile({ user, providerId }: Assigned, queue: () => Promise<unknown>) {
    const [deleted, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const deletion = service.database.asUser(user.id, async (em) => {
      await em.execute('delete from providers where id = ?', [providerId], 'run');
      deleted.resolve();
      await commit.promise;
    });
    await deleted.promise;
    const queued = queue();
    setTimeout(commit.resolve, 300);
    await deletion;
    await queued;
  }

  const inEngine = (work: (query: Query) => Promise<unknown>) => service.database.engineTransaction(work);
  const openAll = (monitors: Assigned[]) =>
    inEngine((query) =>
      openIncidents(
        query,
        monitors.map(({ monitorId }) => monitorId),
      ),
    );
  const dueReminders = (users: Assigned[]) =>
    asEngine('update incidents set remind_at = app_now() where user_id = any (?::bigint[])', [`{${users.map(({ user }) => user.id)}}`]);

  test('outages of other users are told', async () => {
    const [deleted, kept] = [await createAssigned(), await createAssigned()];
    await deleteMeanwhile(deleted, () => openAll([deleted, kept]));
    expect([await kindsOf(deleted), await kindsOf(kept)]).toEqual([[], ['monitor.down']]);
  });

  test('other users are reminded', async () => {
    const [deleted, kept] = [await createAssigned(), await createAssigned()];
    await openAll([deleted, kept]);
    const users = [deleted, kept].map(({ user }) => user.id);
    await asEngine(`update alerts set status = 'sent', queued_at = app_now() - interval '1 hour' where user_id in (?, ?)`, users);
    await dueReminders([deleted, kept]);
    await deleteMeanwhile(deleted, () => inEngine((query) => queueReminders(query, 0)));
    expect([await kindsOf(deleted), await kindsOf(kept)]).toEqual([[], ['monitor.down', 'monitor.reminder']]);
  });

  test('other users are told that a provider fails', async () => {
    const [deleted, kept] = [await createAssigned(), await createAssigned()];
    for (const { user } of [deleted, kept]) {
      const { id } = await createProvider(user);
      await asEngine(`update providers set failing_since = app_now() - interval '2 hours' where id = ?`, [id]);
    }
    await deleteMeanwhile(deleted, () => inEngine(queueFailingNotices));
    expect([await kindsOf(deleted), await kindsOf(kept)]).toEqual([[], ['provider.failing']]);
  });

  test('the end of an incident is told to other providers', async () => {
    const deleted = await createAssigned();
    const kept = { ...deleted, providerId: (await createProvider(deleted.user)).id };
    const { user, monitorId } = deleted;
    await user.api.post(`/api/monitors/${monitorId}/notifications`, { json: { provider_id: kept.providerId } });
    await openAll([deleted]);
    await service.database.asUser(user.id, (em) => em.execute(`update providers set provider_type = 'pagerduty'`, [], 'run'));
    await asEngine(`update alerts set status = 'sent' where user_id = ?`, [user.id]);
    await service.database.asUser(user.id, (em) => em.execute(`update monitors set is_active = false, status = 'paused'`, [], 'run'));
    await deleteMeanwhile(deleted, () => service.database.query(user.id)(queueEnds({ ids: [monitorId] })));
    expect([await kindsOf(deleted), await kindsOf(kept)]).toEqual([[], ['monitor.down', 'monitor.recovered']]);
  });
});
