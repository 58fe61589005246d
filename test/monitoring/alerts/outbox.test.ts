// The outbox as the dispatchers of several processes use it. No dispatcher runs, so each test decides what happens when.
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { type Query, queryInTransaction } from '../../../src/db/statement.ts';
import { findWaitingProviders } from '../../../src/monitoring/alerts/due-alerts.ts';
import { type LeasedAlert, leaseAlerts } from '../../../src/monitoring/alerts/lease-alerts.ts';
import { leasesOf, lockLeased, markEnded, markSent, postpone, releaseAlerts, selectEvents } from '../../../src/monitoring/alerts/leases.ts';
import { countMessage } from '../../../src/monitoring/alerts/message-limits.ts';
import { countPendingAlerts } from '../../../src/monitoring/alerts/outbox.ts';
import { sendDuringTransaction } from '../../support/database.ts';
import { namedAlert, sampleAlert } from '../../support/sample-event.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { sql } from '../../support/statement.ts';
import { createMonitor, createProvider } from '../factories.ts';
import { queueForNewUsers } from './queue-for-new-users.ts';

let service: TestService;
let database: Database;
let user: TestUser;
let providerId: number;
let incidentId: number;

beforeAll(async () => {
  service = await startService();
  database = service.database;
});
beforeEach(async () => {
  user = await service.createUser();
  providerId = (await createProvider(user)).id;
  incidentId = await openIncident();
});
afterAll(() => service.stop());

const inTransaction = <T>(work: (query: Query) => Promise<T>) => database.asEngine((em) => work(queryInTransaction(em)));

async function openIncident(): Promise<number> {
  const { id } = await createMonitor(user, { is_active: false });
  const [row] = await database.asEngine((em) =>
    em.execute<{ id: number }[]>(
      `insert into incidents (user_id, monitor_id, started_at, cause) values (?, ?, app_now(), 'HTTP 503') returning id`,
      [user.id, id],
    ),
  );
  return row?.id ?? 0;
}

interface Queued {
  type?: 'monitor.down' | 'monitor.recovered';
  incident?: number;
  provider?: number;
  dueSeconds?: number;
}

async function queue(
  name: string,
  { type = 'monitor.down', incident = incidentId, provider = providerId, dueSeconds = 0 }: Queued = {},
): Promise<void> {
  await database.asEngine((em) =>
    em.execute(
      `insert into alerts (user_id, incident_id, provider_id, kind, payload, next_attempt_at)
       values (?, ?, ?, ${namedAlert('?', type)}, app_now() + ?::int * interval '1 second')`,
      [user.id, incident, provider, name, dueSeconds],
    ),
  );
}

const request = (provider = providerId, limit = 10) => [{ userId: user.id, providerId: provider, channel: 'email' as const, limit }];
const lease = (provider = providerId, limit = 10) => inTransaction((query) => leaseAlerts(query, request(provider, limit)));

async function leaseOne(): Promise<LeasedAlert> {
  const [alert, ...others] = await lease();
  if (!alert || others.length > 0) throw new Error(`${others.length + Number(alert !== undefined)} alerts were leased instead of one.`);
  return alert;
}

async function namesOf(alerts: LeasedAlert[]): Promise<(string | undefined)[]> {
  const [rows] = await inTransaction((query) => query(selectEvents({ ids: alerts.map(({ id }) => id) })));
  return rows.map(({ event }) => ('monitor' in event.data ? event.data.monitor?.friendly_name : undefined));
}
const readAlerts = () =>
  database.asUser(user.id, (em) =>
    em.execute('select status, attempts, lease_token as token, last_error as error from alerts order by id'),
  );
const isLeased = async (alert: LeasedAlert) => (await inTransaction((query) => query(lockLeased(leasesOf([alert])))))[0].length === 1;
const waiting = async (busyProviders: number[] = []) =>
  (await inTransaction((query) => findWaitingProviders(query, { busyProviders, afterUserId: user.id - 1 }))).providers;

test('an alert is leased once, for a minute, and each lease counts as an attempt', async () => {
  await queue('alert');
  const first = await leaseOne();
  expect([first.attempts, await namesOf([first]), await lease()]).toEqual([1, ['alert'], []]);
  await database.asEngine((em) => em.execute(`update alerts set next_attempt_at = app_now() where user_id = ?`, [user.id], 'run'));
  const second = await leaseOne();
  expect([second.attempts, second.token > first.token]).toEqual([2, true]);
  expect([await isLeased(first), await isLeased(second)]).toEqual([false, true]);
  await database.asEngine((em) => em.execute(`update alerts set next_attempt_at = app_now() where user_id = ?`, [user.id], 'run'));
  expect(await isLeased(second)).toBe(false);
});

test('a lease ends after 60 seconds, so that the alert of a process that died does not wait longer', async () => {
  await queue('alert');
  const seconds = await inTransaction(async (query) => {
    await leaseAlerts(query, request());
    const until = sql<{ seconds: number }>(
      'select extract(epoch from next_attempt_at - app_now())::float8 as seconds from alerts where user_id = $1',
      [user.id],
    );
    return (await query(until))[0].map((row) => row.seconds);
  });
  // The column has milliseconds.
  expect(seconds).toEqual([expect.closeTo(60, 2)]);
});

test('only the process that holds the lease records the outcome', async () => {
  await queue('alert');
  const first = await leaseOne();
  await database.asEngine((em) => em.execute(`update alerts set next_attempt_at = app_now() where user_id = ?`, [user.id], 'run'));
  const second = await leaseOne();
  await inTransaction((query) =>
    query(
      markSent(leasesOf([first])),
      markEnded({ ...leasesOf([first]), status: 'failed', reason: 'late' }),
      postpone({ ...leasesOf([first]), reason: 'late', seconds: 1 }),
    ),
  );
  expect(await readAlerts()).toEqual([{ status: 'queued', attempts: 2, token: second.token, error: null }]);
  await inTransaction((query) => query(postpone({ ...leasesOf([second]), reason: 'busy', seconds: 0 })));
  expect(await readAlerts()).toEqual([{ status: 'queued', attempts: 2, token: null, error: 'busy' }]);
  // The lease ended with the outcome, so a second one is not recorded.
  await inTransaction((query) => query(markEnded({ ...leasesOf([second]), status: 'failed', reason: 'twice' })));
  const third = await leaseOne();
  await inTransaction((query) => query(markSent(leasesOf([third]))));
  expect(await readAlerts()).toEqual([{ status: 'sent', attempts: 3, token: expect.any(Number), error: null }]);
});

test('an alert that is released at shutdown can be leased at once, and the attempt does not count', async () => {
  await queue('alert');
  const alert = await leaseOne();
  const notified: string[] = [];
  await database.listen('work_available', { onNotification: (loop) => notified.push(loop), onReconnect() {} });
  await inTransaction((query) => releaseAlerts(query, new Map([[alert, false]])));
  await expect.poll(() => notified, { timeout: 10_000 }).toContain('dispatcher');
  expect(await isLeased(alert)).toBe(false);
  expect((await leaseOne()).attempts).toBe(1);
});

test('a recovery waits until the down alert of its incident and provider has ended, and no other', async () => {
  const other = (await createProvider(user)).id;
  await queue('down', { dueSeconds: 600 });
  await queue('down of another provider', { provider: other });
  await queue('recovered', { type: 'monitor.recovered' });
  await queue('recovered of another provider', { type: 'monitor.recovered', provider: other });
  await queue('down of another incident', { incident: await openIncident() });
  expect(await namesOf(await lease())).toEqual(['down of another incident']);
  const ofOther = await lease(other);
  expect(await namesOf(ofOther)).toEqual(['down of another provider']);
  expect(await lease(other)).toEqual([]);
  await inTransaction((query) => query(markSent(leasesOf(ofOther))));
  expect(await namesOf(await lease(other))).toEqual(['recovered of another provider']);
  expect(await lease()).toEqual([]);
});

test('the oldest alerts of a provider come first, up to a limit', async () => {
  const queued = Array.from({ length: 12 }, (_, index) => `alert ${index}`);
  for (const [index, name] of queued.entries()) await queue(name, { incident: await openIncident(), dueSeconds: index - 100 });
  // RETURNING has no order, but which alerts are leased is certain.
  expect((await namesOf(await lease())).toSorted()).toEqual(queued.slice(0, 10).toSorted());
  expect((await namesOf(await lease())).toSorted()).toEqual(queued.slice(10).toSorted());
});

test('a provider that gets a message, or whose user is suspended, does not wait', async () => {
  await queue('alert');
  expect(await waiting()).toEqual([{ userId: user.id, providerId, channel: 'email' }]);
  expect(await waiting([providerId])).toEqual([]);
  const alert = await leaseOne();
  expect(await isLeased(alert)).toBe(true);
  await inTransaction((query) => releaseAlerts(query, new Map([[alert, false]])));
  const again = await leaseOne();
  await queue('another alert', { incident: await openIncident() });
  expect(await waiting()).toHaveLength(1);
  await database.asEngine((em) => em.execute('select operator_set_suspended(?, true)', [user.id]));
  expect([await waiting(), await isLeased(again)]).toEqual([[], false]);
});

test('the providers whose alerts have waited longest come first', async () => {
  const others = await Promise.all([createProvider(user), createProvider(user), createProvider(user)]);
  const [second = 0, third = 0, fourth = 0] = others.map(({ id }) => id);
  const waited = [
    [third, 30],
    [providerId, 10],
    [fourth, 40],
    [second, 20],
  ] as const;
  for (const [provider, seconds] of waited) await queue('alert', { provider, incident: await openIncident(), dueSeconds: -seconds });
  expect((await waiting()).map((found) => found.providerId)).toEqual([fourth, third, second, providerId]);
});

test('a search visits 1,000 users with due alerts, and the next one reaches those who follow', async () => {
  const users = await queueForNewUsers(database, 1001);
  // Other tests search as well.
  onTestFinished(async () => {
    await database.asEngine((em) => em.execute(`update alerts set status = 'failed' where user_id > ?`, [user.id], 'run'));
  });
  const search = async (afterUserId: number) => {
    const { providers, continueAfter } = await inTransaction((query) => findWaitingProviders(query, { busyProviders: [], afterUserId }));
    return { found: providers.map(({ userId }) => userId).toSorted((a, b) => a - b), continueAfter };
  };
  const first = await search(user.id);
  expect(first).toEqual({ found: users.slice(0, 1000), continueAfter: users[999] });
  expect(await search(first.continueAfter)).toEqual({ found: users.slice(1000), continueAfter: 0 });
});

test('the age of the outbox is that of its oldest alert', async () => {
  await queue('of just now');
  const other = await openIncident();
  const oldestSeconds = await inTransaction(async (query) => {
    const values = [user.id, other, providerId];
    const insert = `insert into alerts (user_id, incident_id, provider_id, kind, payload, queued_at)
                    values ($1, $2, $3, ${sampleAlert()}, app_now() - interval '2 hours')`;
    await query(sql(insert, values));
    const counted = await countPendingAlerts(query);
    await query(sql('delete from alerts where user_id = $1 and incident_id = $2', [user.id, other]));
    return counted.oldestSeconds;
  });
  expect(oldestSeconds).toBeCloseTo(2 * 3600, 2);
});

test('only the recovery of an alert that was sent is exempt from limits', async () => {
  await queue('down');
  const down = await leaseOne();
  expect(down.endsSentAlert).toBe(false);
  await queue('recovered', { type: 'monitor.recovered' });
  await inTransaction((query) => query(markSent(leasesOf([down]))));
  expect((await leaseOne()).endsSentAlert).toBe(true);
  const failedIncident = await openIncident();
  await queue('down', { incident: failedIncident });
  await queue('recovered', { type: 'monitor.recovered', incident: failedIncident });
  const failed = await leaseOne();
  await inTransaction((query) => query(markEnded({ ...leasesOf([failed]), status: 'failed', reason: 'rejected' })));
  expect((await leaseOne()).endsSentAlert).toBe(false);
});

test('a provider gets 100 messages per hour, a user 2 SMS per day, and exempt messages count as well', async () => {
  const [first, second] = [1, 2];
  const count = (provider: number, options: { isExempt?: boolean; perUserPerDay?: number } = {}) => {
    const { perUserPerDay, isExempt = false } = options;
    const channel = { name: 'SMS', audience: 'people' as const, ...(perUserPerDay !== undefined && { perUserPerDay }) };
    return inTransaction((query) => countMessage(query, { userId: user.id, providerId: provider, channel, isExempt }));
  };
  const perUserPerDay = 2;
  expect(await count(first, { perUserPerDay })).toBeUndefined();
  expect(await count(second, { perUserPerDay, isExempt: true })).toBeUndefined();
  expect(await count(first, { perUserPerDay })).toMatchObject({ limit: '2 SMS per day' });
  expect(await count(first, { perUserPerDay, isExempt: true })).toBeUndefined();
  // In this hour and the next one, in case that it begins now.
  await database.asEngine((em) =>
    em.execute(
      `insert into message_counts select ?, 'provider 7', date_trunc('hour', app_now(), 'UTC') + n * interval '1 hour', 99 from generate_series(0, 1) n`,
      [user.id],
      'run',
    ),
  );
  expect(await count(7)).toBeUndefined();
  expect(await count(7)).toMatchObject({ limit: '100 messages per hour for this provider' });
});

test('a program gets 2,000 messages per hour', async () => {
  const message = { userId: user.id, providerId: 6, channel: { name: 'Webhook', audience: 'programs' } as const };
  await database.asEngine((em) =>
    em.execute(
      `insert into message_counts select ?, 'provider 6', date_trunc('hour', app_now(), 'UTC') + n * interval '1 hour', 1999 from generate_series(0, 1) n`,
      [user.id],
      'run',
    ),
  );
  expect(await inTransaction((query) => countMessage(query, message))).toBeUndefined();
  expect(await inTransaction((query) => countMessage(query, message))).toMatchObject({
    limit: '2,000 messages per hour for this provider',
  });
});

test.each([
  ['day', { name: 'SMS', audience: 'people', perUserPerDay: 0 }],
  ['hour', { name: 'SMS', audience: 'people' }],
] as const)('a limit per %s that is reached ends with it', async (period, channel) => {
  const { reached, left } = await inTransaction(async (query) => {
    const fill = `insert into message_counts values ($1, 'provider 8', date_trunc('hour', app_now(), 'UTC'), 100)`;
    await query(sql(fill, [user.id]));
    const untilEnd = sql<{ seconds: number }>(
      `select extract(epoch from date_trunc($1, app_now(), 'UTC') + ('1 ' || $1)::interval - app_now())::float8 as seconds`,
      [period],
    );
    const [[end]] = await query(untilEnd);
    return { reached: await countMessage(query, { userId: user.id, providerId: 8, channel }), left: end?.seconds };
  });
  // The clock stands still in a transaction.
  expect(reached?.secondsLeft).toBe(Math.max(1, Math.ceil(left ?? 0)));
});

test.each(['Asia/Kolkata', 'Pacific/Kiritimati'])('days and hours are those of UTC on a connection with the time zone %s', async (zone) => {
  const starts = await inTransaction(async (query) => {
    await query(sql(`set local timezone = '${zone}'`));
    await countMessage(query, { userId: user.id, providerId: 9, channel: { name: 'SMS', audience: 'people', perUserPerDay: 1 } as const });
    const seconds = `extract(epoch from period_start)::int as seconds`;
    const [rows] = await query(
      sql<{ seconds: number }>(`select ${seconds} from message_counts where user_id = $1 order by period_start`, [user.id]),
    );
    const [[now]] = await query(sql<{ seconds: number }>('select extract(epoch from app_now())::float8 as seconds'));
    const at = now?.seconds ?? 0;
    return { stored: rows.map((row) => row.seconds), expected: [86_400, 3600].map((length) => at - (at % length)) };
  });
  expect(starts.stored).toEqual(starts.expected.map((start) => Math.round(start)));
});

test.runIf(process.env.TEST_DATABASE_URL)('two messages counted at the same time are not both the last that is allowed', async () => {
  const last = { userId: user.id, providerId: 1, channel: { name: 'SMS', audience: 'people', perUserPerDay: 1 } as const };
  const count = (query: Query) => countMessage(query, last);
  const second = await sendDuringTransaction(
    database,
    user.id,
    (em) => count(queryInTransaction(em)),
    () => inTransaction(count),
  );
  expect(second).toMatchObject({ limit: '1 SMS per day' });
});
