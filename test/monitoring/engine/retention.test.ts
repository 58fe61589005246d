import { afterAll, beforeAll, expect, test } from 'vitest';
import { monitoringDeletions } from '../../../src/monitoring/engine/retention.ts';
import { alertName, namedAlert } from '../../support/sample-event.ts';
import { startService, type TestService } from '../../support/service.ts';
import { createMonitor, createProvider } from '../factories.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

test('deletes statistics after RETENTION_DAYS, incidents after 400 days, and message counts after 2 days', async () => {
  const user = await service.createUser();
  const { id } = await createMonitor(user, { is_active: false });
  await service.database.asEngine(async (em) => {
    await em.execute(
      `insert into check_hours (user_id, monitor_id, hour, checks, failures, total_ms)
       select ?, ?, date_trunc('hour', now()) - n * interval '10 days', 1, 0, 1 from generate_series(0, 9) n`,
      [user.id, id],
    );
    await em.execute(
      `insert into incidents (user_id, monitor_id, started_at, resolved_at, cause)
       select ?, ?, now() - n * interval '1 day', now() - n * interval '1 day', 'n' from unnest(array[1, 390, 500]) n`,
      [user.id, id],
    );
  });
  await service.database.asEngine((em) =>
    em.execute(
      `insert into message_counts (user_id, counter, period_start, messages)
       select ?, 'sms', now() - n * interval '30 hours', 1 from generate_series(0, 5) n`,
      [user.id],
    ),
  );
  const countMessages = async () =>
    (await service.database.asUser(user.id, (em) => em.execute<unknown[]>('select from message_counts'))).length;
  const countRows = async (table: string) => {
    const [row] = await service.database.asUser(user.id, (em) =>
      em.execute<{ count: number }[]>(`select count(*)::int as count from ${table} where monitor_id = ?`, [id]),
    );
    return row?.count;
  };
  // Old rows are deleted when the engine starts, and then every hour.
  const withEngine = await startService({ retentionDays: 35 }, { database: service.database, engine: true });
  await expect.poll(() => countRows('check_hours'), { timeout: 20_000 }).toBe(4);
  await expect.poll(() => countRows('incidents'), { timeout: 20_000 }).toBe(2);
  await expect.poll(countMessages, { timeout: 20_000 }).toBe(2);
  await withEngine.stop();
});

test('keeps an incident that is open for 500 days, or was resolved yesterday after 500 days', async () => {
  const user = await service.createUser();
  const { id } = await createMonitor(user, { is_active: false });
  await service.database.asEngine((em) =>
    em.execute(
      `insert into incidents (user_id, monitor_id, started_at, resolved_at, cause)
       select ?, ?, now() - interval '500 days', now() - days * interval '1 day', cause
       from (values ('open', null), ('resolved yesterday', 1), ('resolved long ago', 450)) given (cause, days)`,
      [user.id, id],
    ),
  );
  for (const { runBatch } of monitoringDeletions(service.database, 35)) await runBatch();
  const kept = await service.database.asUser(user.id, (em) =>
    em.execute<{ cause: string }[]>('select cause from incidents order by cause'),
  );
  expect(kept.map(({ cause }) => cause)).toEqual(['open', 'resolved yesterday']);
});

test.each([
  ['30 days, although RETENTION_DAYS is greater', 35, 30],
  ['RETENTION_DAYS, which are fewer than 30', 10, 10],
])(
  'deletes alerts that were sent or failed before %s, and keeps newer and queued ones and those of open incidents',
  async (_, retentionDays, days) => {
    const user = await service.createUser();
    const [monitor, provider] = [await createMonitor(user, { is_active: false }), await createProvider(user)];
    await service.database.asEngine((em) =>
      em.execute(
        `with given (name, status, days, is_open) as (
         values ('old sent', 'sent', ?::int + 1, false), ('old failed', 'failed', ? + 1, false), ('old, still open', 'sent', ? + 1, true),
                ('new sent', 'sent', ? - 1, false), ('old queued', 'queued', null, false)
       ), opened as (
         insert into incidents (user_id, monitor_id, started_at, resolved_at, cause)
         select ?, ?, now() - interval '36 days', case when not is_open then now() - interval '36 days' end, name from given
         returning user_id, id, cause
       )
       insert into alerts (user_id, incident_id, provider_id, kind, payload, status, created_at, done_at)
       select user_id, id, ?, ${namedAlert('name')}, status, now() - interval '36 days', now() - days * interval '1 day'
       from given join opened on cause = name`,
        [days, days, days, days, user.id, monitor.id, provider.id],
      ),
    );
    for (const { runBatch } of monitoringDeletions(service.database, retentionDays)) await runBatch();
    const kept = await service.database.asUser(user.id, (em) =>
      em.execute<{ name: string }[]>(`select ${alertName} as name from alerts order by 1`),
    );
    expect(kept.map(({ name }) => name)).toEqual(['new sent', 'old queued', 'old, still open']);
  },
);

test('keeps a warning about a certificate until 30 days after its expiry', async () => {
  const user = await service.createUser();
  const [monitor, provider] = [await createMonitor(user, { is_active: false }), await createProvider(user)];
  await service.database.asEngine((em) =>
    em.execute(
      `insert into alerts (user_id, monitor_id, provider_id, kind, payload, status, done_at)
       select ?, ?, ?, 'monitor.tls_expiring', jsonb_build_object('type', 'monitor.tls_expiring', 'data',
         jsonb_build_object('monitor', jsonb_build_object('tls_expires_at', app_now() - days * interval '1 day'))), 'sent', app_now() - interval '90 days'
         from unnest(array[31, 29, -29]) as days`,
      [user.id, monitor.id, provider.id],
      'run',
    ),
  );
  for (const { runBatch } of monitoringDeletions(service.database, 35)) await runBatch();
  const kept = await service.database.asUser(user.id, (em) =>
    em.execute<{ days: number }[]>(
      `select round(extract(epoch from app_now() - (payload #>> '{data,monitor,tls_expires_at}')::timestamptz) / 86400)::int as days from alerts order by 1`,
    ),
  );
  expect(kept.map(({ days }) => days)).toEqual([-29, 29]);
});

test('keeps the newest 10,000 alerts of a provider, those that wait, and what was said first about an open incident', async () => {
  const user = await service.createUser();
  const [monitor, busy, other] = [await createMonitor(user, { is_active: false }), await createProvider(user), await createProvider(user)];
  await service.database.asEngine(async (em) => {
    const [incident] = await em.execute<{ id: number }[]>(
      `insert into incidents (user_id, monitor_id, started_at, cause) values (?, ?, now(), 'open') returning id`,
      [user.id, monitor.id],
    );
    const insert = (provider: number, count: number, name: string, columns: { status: string; incident?: number }) =>
      em.execute(
        `insert into alerts (user_id, provider_id, incident_id, kind, payload, status, done_at, sequence)
         select ?, ?, ?, ${namedAlert(`'${name}'`)}, ?, now(), n from generate_series(1, ?) n`,
        [user.id, provider, columns.incident ?? null, columns.status, count],
        'run',
      );
    await insert(other.id, 3, 'of another provider', { status: 'sent' });
    await insert(busy.id, 2, 'old', { status: 'sent' });
    await insert(busy.id, 1, 'waits', { status: 'queued' });
    await insert(busy.id, 1, 'open', { status: 'sent', incident: Number(incident?.id) });
    await insert(busy.id, 10_000, 'new', { status: 'suppressed' });
  });
  for (const { runBatch } of monitoringDeletions(service.database, 35)) await runBatch();
  const kept = await service.database.asUser(user.id, (em) =>
    em.execute(`select ${alertName} as name, count(*)::int as count from alerts group by 1 order by 1`),
  );
  expect(kept).toEqual([
    { name: 'new', count: 10_000 },
    { name: 'of another provider', count: 3 },
    { name: 'open', count: 1 },
    { name: 'waits', count: 1 },
  ]);
});
