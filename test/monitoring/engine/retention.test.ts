import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { monitoringDeletions } from '../../../src/monitoring/engine/retention.ts';
import { dayMs, hourMs, rings, startOfDay, startOfHour, startOfMonth, startOfWeek } from '../../../src/monitoring/statistics/periods.ts';
import { setProgress, startProgress } from '../../../src/monitoring/statistics/progress.ts';
import { readHistoryRows } from '../../support/check-history.ts';
import { alertName, namedAlert } from '../../support/sample-event.ts';
import { startService, type TestService } from '../../support/service.ts';
import { createMonitor, createProvider } from '../factories.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

test('deletes incidents after 400 days, also with a shorter RETENTION_DAYS, and message counts after 2 days', async () => {
  const user = await service.createUser();
  const { id } = await createMonitor(user, { is_active: false });
  await service.database.asEngine((em) =>
    em.execute(
      `insert into incidents (user_id, monitor_id, started_at, resolved_at, cause)
       select ?, ?, now() - n * interval '1 day', now() - n * interval '1 day', 'n' from unnest(array[1, 390, 500]) n`,
      [user.id, id],
    ),
  );
  await service.database.asEngine((em) =>
    em.execute(
      `insert into message_counts (user_id, counter, period_start, messages)
       select ?, 'sms', now() - n * interval '30 hours', 1 from generate_series(0, 5) n`,
      [user.id],
    ),
  );
  const countMessages = async () =>
    (await service.database.asUser(user.id, (em) => em.execute<unknown[]>('select from message_counts'))).length;
  const countIncidents = async () =>
    (await service.database.asUser(user.id, (em) => em.execute<unknown[]>('select from incidents where monitor_id = ?', [id]))).length;
  // Old rows are deleted when the engine starts, and then every hour.
  const withEngine = await startService({ retentionDays: 35 }, { database: service.database, engine: true });
  await expect.poll(countIncidents, { timeout: 20_000 }).toBe(2);
  await expect.poll(countMessages, { timeout: 20_000 }).toBe(2);
  await withEngine.stop();
});

describe('the history', () => {
  const run = <Row extends object>(sql: string, values: unknown[] = []) =>
    service.database.asEngine((em) => em.execute<Row[]>(sql, values));
  const deleteOld = async (retentionDays = 400) => {
    for (const { runBatch } of monitoringDeletions(service.database, retentionDays)) await runBatch();
  };
  const readNow = async () => (await run<{ ms: number }>('select (extract(epoch from app_now()) * 1000)::float8 as ms'))[0]?.ms ?? 0;
  /** Says that everything before the hour of this time was rolled up. */
  const setProgressTo = (ms: number) =>
    service.database.engineTransaction((query) => query(startProgress({}), setProgress({ hour: new Date(startOfHour(ms)), monitorId: 0 })));
  const sizeOf = async (partition: string) =>
    (await run<{ bytes: number }>(`select pg_relation_size('${partition}')::int as bytes`))[0]?.bytes;

  const tables = {
    check_logs: { column: 'hour', bytes: 'checks', startOf: startOfDay },
    hour_statistics: { column: 'day', bytes: 'hours', startOf: startOfWeek },
    day_statistics: { column: 'month', bytes: 'days', startOf: startOfMonth },
  };

  /** Adds a row of a monitor whose hour, day or month begins at this time. Returns the name of its partition. */
  async function addRow(table: keyof typeof tables, ms: number, { userId, monitorId }: { userId: number; monitorId: number }) {
    const [{ column, bytes }, slot] = [tables[table], rings[table].slotOf(ms)];
    const insert = `insert into ${table} (user_id, monitor_id, slot, ${column}, ${bytes}) values (?, ?, ?, to_timestamp(?), '') returning slot`;
    await run(insert, [userId, monitorId, slot, ms / 1000]);
    return `${table}_${slot}`;
  }

  async function createSubject() {
    const user = await service.createUser();
    return { userId: user.id, monitorId: (await createMonitor(user, { is_active: false })).id };
  }

  test.each([
    ['400 days, although RETENTION_DAYS is greater', 500, 400],
    ['RETENTION_DAYS, which are fewer', 35, 35],
  ])(
    'is truncated where all of a partition has expired: checks after 48 hours, hours after 35 days, days after %s',
    async (_, retentionDays, days) => {
      const subject = await createSubject();
      const nowMs = await readNow();
      await setProgressTo(nowMs);
      const [expired, live]: [string[], string[]] = [[], []];
      for (const [table, keptMs] of [
        ['check_logs', 48 * hourMs],
        ['hour_statistics', 35 * dayMs],
        ['day_statistics', days * dayMs],
      ] as const) {
        const { startOf } = tables[table];
        // The newest row that has expired, the oldest one that is kept, for at least another minute, and one of the present.
        const endMs = startOf(nowMs - keptMs);
        const newest = { check_logs: endMs - hourMs, hour_statistics: endMs - dayMs, day_statistics: startOfMonth(endMs - 1) }[table];
        expired.push(await addRow(table, newest, subject));
        for (const ms of [nowMs - keptMs + 60_000, nowMs]) live.push(await addRow(table, startOf(ms), subject));
      }
      for (const partition of expired) expect([partition, await sizeOf(partition)]).not.toEqual([partition, 0]);
      await deleteOld(retentionDays);
      for (const partition of expired) expect([partition, await sizeOf(partition)]).toEqual([partition, 0]);
      for (const partition of live) expect([partition, await sizeOf(partition)]).not.toEqual([partition, 0]);
      const kept = (await readHistoryRows(service.database, subject)).map(({ table }) => table);
      expect(kept).toEqual(['check_logs', 'check_logs', 'day_statistics', 'day_statistics', 'hour_statistics', 'hour_statistics']);
    },
  );

  test('has the checks of an hour until it was rolled up, also after 48 hours', async () => {
    const nowMs = await readNow();
    const endMs = startOfDay(nowMs - 48 * hourMs);
    const partition = await addRow('check_logs', endMs - hourMs, await createSubject());
    await setProgressTo(endMs - hourMs);
    await deleteOld();
    expect(await sizeOf(partition)).toBeGreaterThan(0);
    await setProgressTo(endMs);
    await deleteOld();
    expect(await sizeOf(partition)).toBe(0);
  });

  test.runIf(process.env.TEST_DATABASE_URL)('is truncated later if a transaction uses the partition, and holds up nobody', async () => {
    const nowMs = await readNow();
    await setProgressTo(nowMs);
    const partition = await addRow('check_logs', startOfDay(nowMs - 48 * hourMs) - hourMs, await createSubject());
    await service.database.asEngine(async (em) => {
      await em.execute('select from check_logs');
      await deleteOld();
      expect(await sizeOf(partition)).toBeGreaterThan(0);
    });
    await deleteOld();
    expect(await sizeOf(partition)).toBe(0);
  });
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
