// What an assignment can ask for: to be told of an outage after a delay, and to be reminded of it.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { commands } from '../../../src/commands/registry.ts';
import { tlsEvents } from '../../../src/monitoring/alerts/alert-events.ts';
import type { Dispatcher } from '../../../src/monitoring/alerts/dispatcher.ts';
import { countPendingAlerts, queueAlerts } from '../../../src/monitoring/alerts/outbox.ts';
import { queueReminders } from '../../../src/monitoring/alerts/reminders.ts';
import { DeliveryFailed, type Message } from '../../../src/monitoring/channels/channel.ts';
import { openIncidents, resolveIncidents } from '../../../src/monitoring/engine/record-incidents.ts';
import { monitoringDeletions } from '../../../src/monitoring/engine/retention.ts';
import { utcText } from '../../../src/monitoring/messages/text.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor, createProvider } from '../factories.ts';
import { startDispatcher } from './controlled-dispatcher.ts';

let service: TestService;
let user: TestUser;
let monitorId: number;
let providerId: number;
let dispatcher: Dispatcher | undefined;
const messages: Message[] = [];

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
  [monitorId, providerId] = [(await createMonitor(user)).id, (await createProvider(user)).id];
  messages.length = 0;
});
afterEach(async () => {
  await dispatcher?.stop();
  dispatcher = undefined;
  await asEngine(`update alerts set status = 'failed' where status = 'queued'`);
  await asEngine('update incidents set remind_at = null');
  await asEngine('update providers set next_message_at = null');
});
afterAll(() => service.stop());

const asEngine = (sql: string, parameters: unknown[] = []) => service.database.asEngine((em) => em.execute(sql, parameters, 'run'));
const read = <Row>(sql: string, parameters: unknown[] = []) => service.database.asUser(user.id, (em) => em.execute<Row[]>(sql, parameters));

function start(send: (message: Message) => Promise<void> = async () => {}) {
  const collect = (message: Message) => {
    messages.push(message);
    return send(message);
  };
  dispatcher = startDispatcher({ database: service.database, send: collect }).dispatcher;
}

async function assign(
  settings: { delay_seconds?: number; remind_every_seconds?: number | null; enabled?: boolean },
  provider = providerId,
) {
  const json = { provider_id: provider, ...settings };
  const { status, body } = await user.api.post(`/api/monitors/${monitorId}/notifications`, { json });
  expect(status).toBeLessThan(300);
  return body.data;
}

/** Opens an incident as the engine does, of an outage that began some minutes ago. */
async function open(minutes = 6): Promise<void> {
  await asEngine(
    `update monitors set status = 'down', first_failed_at = app_now() - ? * interval '1 minute', first_cause = 'HTTP 503' where id = ?`,
    [minutes, monitorId],
  );
  await service.database.engineTransaction((query) => openIncidents(query, [monitorId]));
}

async function resolve(): Promise<number> {
  await asEngine(`update monitors set status = 'up', last_checked_at = app_now() where id = ?`, [monitorId]);
  return service.database.engineTransaction((query) => resolveIncidents(query, [monitorId]));
}

/** As if all messages, and the plan of the next one, were from an earlier time. */
async function pass(minutes: number) {
  const ago = `${minutes} minutes`;
  await asEngine(
    `update alerts set queued_at = queued_at - ?::interval, next_attempt_at = next_attempt_at - ?::interval, done_at = done_at - ?::interval
      where user_id = ?`,
    [ago, ago, ago, user.id],
  );
  await asEngine(`update incidents set remind_at = remind_at - ?::interval where user_id = ?`, [ago, user.id]);
  dispatcher?.wake();
}

/** As the dispatcher does at its next search. */
const lookForReminders = () => service.database.engineTransaction((query) => queueReminders(query, 0));

const alerts = () =>
  read<{ kind: string; status: string; error: string | null; wait: number }>(
    `select kind, status, last_error as error, round(extract(epoch from next_attempt_at - created_at))::int as wait from alerts order by id`,
  );
const kinds = async () => (await alerts()).map(({ kind, status }) => `${kind} ${status}`);
const incidentId = async () => (await read<{ id: number }>('select id from incidents order by id desc'))[0]?.id;
const remindIn = async () =>
  (
    await read<{ seconds: number | null }>(
      'select round(extract(epoch from remind_at - app_now()))::int as seconds from incidents order by id desc',
    )
  )[0]?.seconds;

describe('an assignment', () => {
  test('has no delay and no reminders by default, and a later request replaces all settings', async () => {
    expect(await assign({})).toMatchObject({ enabled: true, delay_seconds: 0, remind_every_seconds: null });
    expect(await assign({ delay_seconds: 3600, remind_every_seconds: 300 })).toMatchObject({
      delay_seconds: 3600,
      remind_every_seconds: 300,
    });
    const list = await user.api.get(`/api/monitors/${monitorId}/notifications`);
    expect(list.body.data).toMatchObject([{ delay_seconds: 3600, remind_every_seconds: 300 }]);
    expect(await assign({ remind_every_seconds: 86_400 })).toMatchObject({ delay_seconds: 0, remind_every_seconds: 86_400 });
    expect(await assign({})).toMatchObject({ delay_seconds: 0, remind_every_seconds: null });
  });

  test.each([
    { delay_seconds: -1 },
    { delay_seconds: 3601 },
    { delay_seconds: 1.5 },
    { delay_seconds: null },
    { remind_every_seconds: 0 },
    { remind_every_seconds: 299 },
    { remind_every_seconds: 86_401 },
    { remind_every_seconds: '300' },
  ])('with %j is rejected', async (settings) => {
    const json = { provider_id: providerId, ...settings };
    const { status, body } = await user.api.post(`/api/monitors/${monitorId}/notifications`, { json });
    expect([status, body.errors]).toEqual([422, [expect.objectContaining({ pointer: `/${Object.keys(settings)[0]}` })]]);
    expect(await read('select from notifications')).toEqual([]);
  });

  test('keeps its settings when it is assigned again in a bulk change', async () => {
    await assign({ enabled: false, delay_seconds: 60, remind_every_seconds: 300 });
    const json = { ids: [monitorId], action: 'assign', provider_id: providerId };
    expect((await user.api.post('/api/monitors/bulk', { json })).body.data).toEqual({ matched: 1, changed: 1 });
    const list = await user.api.get(`/api/monitors/${monitorId}/notifications`);
    expect(list.body.data).toMatchObject([{ enabled: true, delay_seconds: 60, remind_every_seconds: 300 }]);
  });
});

describe('an assignment that has ended', () => {
  const ends: [string, () => Promise<unknown>][] = [
    ['removed', () => user.api.delete(`/api/monitors/${monitorId}/notifications`, { json: { provider_id: providerId } })],
    ['disabled', () => assign({ enabled: false })],
    [
      'removed in a bulk change',
      () => user.api.post('/api/monitors/bulk', { json: { ids: [monitorId], action: 'unassign', provider_id: providerId } }),
    ],
  ];

  test.each(ends)('because it was %s takes along the alerts that wait, of this monitor and provider only', async (_, end) => {
    const [other, otherMonitor] = [(await createProvider(user)).id, (await createMonitor(user)).id];
    await assign({ delay_seconds: 300 });
    await assign({}, other);
    await user.api.post(`/api/monitors/${otherMonitor}/notifications`, { json: { provider_id: providerId } });
    await open();
    const first = monitorId;
    monitorId = otherMonitor;
    await open();
    monitorId = first;
    await end();
    const waiting = await read<{ provider: number; monitor: number }>(
      `select provider_id::int as provider, (payload #>> '{data,monitor,id}')::int as monitor from alerts where status = 'queued' order by id`,
    );
    expect(waiting).toEqual([
      { provider: other, monitor: first },
      { provider: providerId, monitor: otherMonitor },
    ]);
    const error = 'not sent: the provider is not assigned to the monitor any more';
    expect((await alerts()).filter(({ status }) => status === 'suppressed')).toMatchObject([{ kind: 'monitor.down', error }]);
    expect(await resolve()).toBe(1);
  });

  test.each(ends)('because it was %s leaves them the recovery that waits', async (_, end) => {
    await assign({});
    await open();
    start();
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent']);
    await asEngine(`update providers set next_message_at = app_now() + interval '1 hour' where id = ?`, [providerId]);
    await resolve();
    await end();
    expect(await kinds()).toEqual(['monitor.down sent', 'monitor.recovered queued']);
  });

  test.each(ends)('because it was %s leaves the recovery to those who were told of the outage', async (_, end) => {
    await assign({});
    await open();
    start();
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent']);
    await end();
    expect(await resolve()).toBe(1);
    dispatcher?.wake();
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent', 'monitor.recovered sent']);
  });
});

test('a provider that is assigned during an incident is told of its end, and not of its beginning', async () => {
  await open(120);
  await assign({});
  expect(await kinds()).toEqual([]);
  await resolve();
  expect(await kinds()).toEqual(['monitor.recovered queued']);
});

describe('a delay', () => {
  test('postpones the alert, which is then sent, and its recovery at once', async () => {
    await assign({ delay_seconds: 300 });
    start();
    await open();
    expect(await alerts()).toMatchObject([{ kind: 'monitor.down', status: 'queued', wait: 300 }]);
    expect(await service.database.engineTransaction(countPendingAlerts)).toEqual({ count: 0, oldestSeconds: 0 });
    await pass(5.1);
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent']);
    await resolve();
    dispatcher?.wake();
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent', 'monitor.recovered sent']);
  });

  test('that is not over when the monitor is up again suppresses both alerts, and only for this provider', async () => {
    await assign({ delay_seconds: 300 });
    const other = (await createProvider(user, 'telegram')).id;
    await assign({}, other);
    await open();
    await resolve();
    const rows = await read<{ kind: string; status: string; error: string | null; provider: number }>(
      'select kind, status, last_error as error, provider_id as provider from alerts order by provider_id, id',
    );
    expect(rows.map((row) => ({ ...row, provider: Number(row.provider) }))).toEqual([
      {
        kind: 'monitor.down',
        status: 'suppressed',
        error: 'not sent: the monitor was up again before the delay was over',
        provider: providerId,
      },
      { kind: 'monitor.down', status: 'queued', error: null, provider: other },
      { kind: 'monitor.recovered', status: 'queued', error: null, provider: other },
    ]);
  });

  test('that is over does not drop an alert whose provider is slow', async () => {
    await assign({ delay_seconds: 60 });
    await open();
    await pass(1.1);
    await resolve();
    expect(await kinds()).toEqual(['monitor.down queued', 'monitor.recovered queued']);
    start();
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent', 'monitor.recovered sent']);
  });

  test('an alert that the user has sent before its delay is over is sent at once, and so is the recovery', async () => {
    await assign({ delay_seconds: 3600 });
    await open();
    const [delivery] = (await user.api.get(`/api/providers/${providerId}/deliveries`)).body.data;
    expect(delivery).toMatchObject({ status: 'queued', next_attempt_at: expect.any(String) });
    start();
    expect((await user.api.post(`/api/deliveries/${delivery.id}/redeliver`)).status).toBe(202);
    dispatcher?.wake();
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent']);
    await resolve();
    dispatcher?.wake();
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent', 'monitor.recovered sent']);
  });

  test('acknowledging the incident before it is over drops the alert, and its recovery', async () => {
    const atOnce = (await createProvider(user)).id;
    await assign({ delay_seconds: 300 });
    await assign({}, atOnce);
    await open();
    start();
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(expect.arrayContaining(['monitor.down queued', 'monitor.down sent']));
    expect((await user.api.post(`/api/incidents/${await incidentId()}/acknowledge`)).status).toBe(200);
    const error = 'not sent: the incident was acknowledged before the delay was over';
    expect(await alerts()).toContainEqual(expect.objectContaining({ kind: 'monitor.down', status: 'suppressed', error }));
    expect(await resolve()).toBe(1);
    dispatcher?.wake();
    await expect.poll(() => messages.map(({ event }) => event.type), { timeout: 15_000 }).toEqual(['monitor.down', 'monitor.recovered']);
  });

  test('pausing the monitor cancels a delayed alert', async () => {
    await assign({ delay_seconds: 300, remind_every_seconds: 300 });
    await open();
    await user.api.put(`/api/monitors/${monitorId}`, { json: { is_active: false } });
    expect(await kinds()).toEqual(['monitor.down suppressed']);
    start();
    await pass(120);
    await lookForReminders();
    expect(await kinds()).toEqual(['monitor.down suppressed']);
  });

  test('delays no warning of a certificate', async () => {
    await assign({ delay_seconds: 3600 });
    await service.database.engineTransaction(async (query) => queueAlerts(query, await tlsEvents(query, [monitorId])));
    expect(await alerts()).toMatchObject([{ kind: 'monitor.tls_expiring', wait: 0 }]);
  });
});

describe('reminders', () => {
  test('are sent in the interval until the incident is resolved', async () => {
    await assign({ remind_every_seconds: 300 });
    start();
    await open();
    dispatcher?.wake();
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent']);
    expect(await remindIn()).toBeGreaterThan(240);
    await pass(5.1);
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent', 'monitor.reminder sent']);
    expect(await remindIn()).toBeGreaterThan(240);
    await pass(5.1);
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent', 'monitor.reminder sent', 'monitor.reminder sent']);
    expect(messages.map(({ content: { sign, title } }) => `${sign} ${title}`)).toEqual([
      '❌ Down: Shop',
      '❌ Still down, 6 min: Shop',
      '❌ Still down, 6 min: Shop',
    ]);
    expect(messages[1]?.continues).toBe(messages[0]?.id);
    expect(new Set(messages.map(({ id }) => id)).size).toBe(3);
    await resolve();
    await pass(60);
    await expect.poll(async () => (await kinds()).slice(3), { timeout: 15_000 }).toEqual(['monitor.recovered sent']);
    await pass(60);
    await lookForReminders();
    expect(await kinds()).toHaveLength(4);
  });

  test('begin after the delay and the interval', async () => {
    await assign({ delay_seconds: 600, remind_every_seconds: 300 });
    await open();
    expect(await remindIn()).toBeGreaterThan(890);
    start();
    await pass(11);
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent']);
    await pass(5);
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent', 'monitor.reminder sent']);
  });

  test('each provider has its own interval, and those of none are never looked at', async () => {
    await assign({ remind_every_seconds: 600, delay_seconds: 60 });
    const others = [(await createProvider(user)).id, (await createProvider(user)).id];
    await assign({ remind_every_seconds: 300 }, others[0]);
    await assign({}, others[1]);
    await open();
    expect(await remindIn()).toBeGreaterThan(240);
    expect(await remindIn()).toBeLessThanOrEqual(300);
    start();
    await expect.poll(() => messages.length, { timeout: 15_000 }).toBe(2);
    await pass(5.1);
    await expect.poll(() => messages.length, { timeout: 15_000 }).toBe(4);
    const reminded = async () =>
      (await read<{ id: number }>(`select provider_id as id from alerts where kind = 'monitor.reminder' order by provider_id`)).map(
        ({ id }) => Number(id),
      );
    expect(await reminded()).toEqual([others[0]]);
    expect(await remindIn()).toBeLessThanOrEqual(300);
    await pass(4);
    await lookForReminders();
    expect(await reminded()).toEqual([others[0]]);
    await pass(2);
    await expect.poll(reminded, { timeout: 15_000 }).toEqual([others[0], providerId, others[0]].toSorted((a, b) => Number(a) - Number(b)));
  });

  test('the next one waits until the last one is sent, so that they do not pile up', async () => {
    await assign({ remind_every_seconds: 300 });
    await open();
    start(() => Promise.reject(new DeliveryFailed('Busy.', { permanent: false, retryAfterSeconds: 3000 })));
    await expect.poll(() => messages.length, { timeout: 15_000 }).toBe(1);
    await pass(6);
    await expect.poll(remindIn, { timeout: 15_000 }).toBeGreaterThan(240);
    expect(await kinds()).toEqual(['monitor.down queued']);
  });

  test('after a long stop, one is sent', async () => {
    await assign({ remind_every_seconds: 300 });
    await open();
    start();
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent']);
    await dispatcher?.stop();
    await pass(180);
    start();
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent', 'monitor.reminder sent']);
    await expect.poll(remindIn, { timeout: 15_000 }).toBeGreaterThan(240);
    expect(await kinds()).toHaveLength(2);
  });

  test('end when the incident is acknowledged: also one that waits. The recovery is sent, and says so', async () => {
    await assign({ remind_every_seconds: 300 });
    await open();
    start();
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent']);
    await dispatcher?.stop();
    await asEngine(`update providers set next_message_at = app_now() + interval '1 hour' where id = ?`, [providerId]);
    await pass(5.1);
    start();
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent', 'monitor.reminder queued']);
    const acknowledged = await user.api.post(`/api/incidents/${await incidentId()}/acknowledge`);
    expect(acknowledged.status).toBe(200);
    expect((await alerts())[1]).toMatchObject({ status: 'suppressed', error: 'not sent: the incident is acknowledged' });
    await asEngine(`update providers set next_message_at = null where id = ?`, [providerId]);
    await pass(60);
    await lookForReminders();
    expect(await kinds()).toHaveLength(2);
    await resolve();
    dispatcher?.wake();
    await expect.poll(() => messages.length, { timeout: 15_000 }).toBe(2);
    const fact = messages[1]?.content.facts.find(({ label }) => label === 'Acknowledged');
    expect(utcText(fact?.value ?? [], { now: new Date() })).toMatch(/UTC/);
  });

  test('one whose attempt fails after the incident was acknowledged is not tried again', async () => {
    await assign({ remind_every_seconds: 300 });
    const failing = Promise.withResolvers<void>();
    await open();
    start(({ event }) => (event.type === 'monitor.reminder' ? failing.promise : Promise.resolve()));
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent']);
    await pass(6);
    await expect.poll(() => messages.length, { timeout: 15_000 }).toBe(2);
    await user.api.post(`/api/incidents/${await incidentId()}/acknowledge`);
    failing.reject(new DeliveryFailed('Busy.', { permanent: false }));
    await dispatcher?.stop();
    expect((await alerts())[1]).toMatchObject({ status: 'suppressed', error: 'not sent: the incident is acknowledged' });
  });

  test('after one that was suppressed, the next one is queued in the next hour', async () => {
    await assign({ remind_every_seconds: 300 });
    await open(120);
    const suppress = (reason: string, doneAt: string) =>
      asEngine(`update alerts set status = 'suppressed', last_error = ?, done_at = ${doneAt} where user_id = ?`, [reason, user.id]);
    const dueNow = () => asEngine('update incidents set remind_at = app_now() where user_id = ?', [user.id]);
    const limit = 'the limit of 100 messages per hour for this provider is reached';
    await pass(10);
    await dueNow();
    // The next hour begins after the test, whenever that is.
    await suppress(limit, `date_trunc('hour', app_now(), 'UTC') + interval '1 hour'`);
    await lookForReminders();
    expect(await kinds()).toEqual(['monitor.down suppressed']);
    await suppress(limit, `date_trunc('hour', app_now(), 'UTC') - interval '1 second'`);
    await dueNow();
    await lookForReminders();
    expect(await kinds()).toEqual(['monitor.down suppressed', 'monitor.reminder queued']);
  });

  test('one that was suppressed for another reason does not delay the next one', async () => {
    await assign({ remind_every_seconds: 300 });
    await open(120);
    await assign({ enabled: false });
    await assign({ remind_every_seconds: 300 });
    await pass(10);
    await lookForReminders();
    expect(await kinds()).toEqual(['monitor.down suppressed', 'monitor.reminder queued']);
  });

  test('users take turns, however many incidents of one are due', async () => {
    const remind = async (owner: TestUser, count: number, minutesOverdue: number) => {
      const [monitor, provider] = [await createMonitor(owner), await createProvider(owner)];
      await owner.api.post(`${monitor.path}/notifications`, { json: { provider_id: provider.id, remind_every_seconds: 300 } });
      await service.database.asUser(owner.id, async (em) => {
        await em.execute(
          `with created as (
           insert into monitors (user_id, friendly_name, url, target_host, is_active, status)
           select user_id, 'M' || n, url, target_host, false, 'paused' from monitors, generate_series(2, ?) n where id = ? returning id, user_id),
         assigned as (
           insert into notifications (user_id, monitor_id, provider_id, remind_every_seconds) select user_id, id, ?, 300 from created)
         insert into incidents (user_id, monitor_id, started_at, cause, remind_at)
         select user_id, id, app_now() - interval '1 day', 'x', app_now() - ? * interval '1 minute'
           from (select id, user_id from created union all select id, user_id from monitors where id = ?) as opened`,
          [count, monitor.id, provider.id, minutesOverdue, monitor.id],
        );
        await em.execute(`update notifications set created_at = app_now() - interval '1 hour'`, [], 'run');
      });
    };
    const other = await service.createUser();
    await remind(user, 80, 30);
    await remind(other, 1, 1);
    await lookForReminders();
    const queued = await service.database.asEngine((em) =>
      em.execute<{ user_id: number; count: number }[]>(
        `select user_id::int, count(*)::int from alerts where user_id in (?, ?) and kind = 'monitor.reminder' group by 1 order by 2`,
        [user.id, other.id],
      ),
    );
    expect(queued).toEqual([
      { user_id: other.id, count: 1 },
      { user_id: user.id, count: 49 },
    ]);
  });

  test('one that waits when the monitor is up again is not sent', async () => {
    await assign({ remind_every_seconds: 300 });
    await open();
    start();
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent']);
    await dispatcher?.stop();
    await asEngine(`update providers set next_message_at = app_now() + interval '1 hour' where id = ?`, [providerId]);
    await pass(5.1);
    start();
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent', 'monitor.reminder queued']);
    await resolve();
    expect(await kinds()).toEqual(['monitor.down sent', 'monitor.reminder suppressed', 'monitor.recovered queued']);
    expect((await alerts())[1]).toMatchObject({ error: 'not sent: the incident is resolved' });
  });

  test('an assignment that is made, changed or ended during an incident counts from then on', async () => {
    await assign({});
    await open();
    start();
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent']);
    expect(await remindIn()).toBeNull();
    await pass(10);
    await assign({ remind_every_seconds: 300 });
    dispatcher?.wake();
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent', 'monitor.reminder sent']);
    const late = (await createProvider(user)).id;
    await assign({ remind_every_seconds: 86_400 }, late);
    await assign({ remind_every_seconds: 300, enabled: false });
    dispatcher?.wake();
    await expect.poll(remindIn, { timeout: 15_000 }).toBeGreaterThan(86_300);
    await pass(10);
    await lookForReminders();
    expect(await kinds()).toHaveLength(2);
    const json = { ids: [monitorId], action: 'assign', provider_id: providerId };
    await user.api.post('/api/monitors/bulk', { json });
    dispatcher?.wake();
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent', 'monitor.reminder sent', 'monitor.reminder sent']);
  });

  test('of more incidents than one transaction takes are all sent', async () => {
    await assign({ remind_every_seconds: 300 });
    const count = 450;
    const assigned = await service.database.asUser(user.id, (em) =>
      em.execute<{ id: number }[]>(
        `with created as (
           insert into monitors (user_id, friendly_name, url, target_host, is_active, status)
           select ?, 'M' || n, 'https://m.example/', 'm.example', false, 'paused' from generate_series(1, ?) n returning id)
         insert into notifications (user_id, monitor_id, provider_id, remind_every_seconds, created_at)
         select ?, id, ?, 300, app_now() - interval '1 hour' from created returning monitor_id as id`,
        [user.id, count, user.id, providerId],
      ),
    );
    await asEngine(
      `insert into incidents (user_id, monitor_id, started_at, cause, remind_at)
       select ?, unnest(?::bigint[]), app_now() - interval '1 hour', 'HTTP 503', app_now() - interval '1 minute'`,
      [user.id, `{${assigned.map(({ id }) => id)}}`],
    );
    await lookForReminders();
    expect(await kinds()).toHaveLength(50);
    start();
    const sent = async () => (await kinds()).filter((kind) => kind === 'monitor.reminder sent').length;
    await expect.poll(sent, { timeout: 30_000 }).toBe(count);
    expect(messages.length).toBeLessThanOrEqual(10);
    expect(messages[0]?.content.title).toMatch(/^\d+ monitors still down$/);
  });

  test('of incidents with many providers are queued in several transactions', async () => {
    const providers = await Promise.all(Array.from({ length: 40 }, () => createProvider(user)));
    const monitors = [monitorId, (await createMonitor(user)).id, (await createMonitor(user)).id];
    await service.database.asUser(user.id, (em) =>
      em.execute(
        `insert into notifications (user_id, monitor_id, provider_id, remind_every_seconds, created_at)
         select ?, monitor_id, provider_id, 300, app_now() - interval '1 hour'
           from unnest(?::bigint[]) as monitor_id, unnest(?::bigint[]) as provider_id`,
        [user.id, `{${monitors}}`, `{${providers.map(({ id }) => id)}}`],
        'run',
      ),
    );
    await asEngine(
      `insert into incidents (user_id, monitor_id, started_at, cause, remind_at)
       select ?, unnest(?::bigint[]), app_now() - interval '1 hour', 'HTTP 503', app_now() - interval '1 minute'`,
      [user.id, `{${monitors}}`],
    );
    const queued = async () => {
      const { hasMore } = await lookForReminders();
      return [hasMore, (await kinds()).length];
    };
    expect([await queued(), await queued(), await queued()]).toEqual([
      [true, 80],
      [true, 120],
      [false, 120],
    ]);
  });

  test.runIf(process.env.TEST_DATABASE_URL)('one that is queued while the monitor is paused is dropped', async () => {
    await assign({ remind_every_seconds: 300 });
    await open();
    await asEngine(`update alerts set status = 'sent', done_at = app_now() where user_id = ?`, [user.id]);
    await pass(10);
    let paused: Promise<unknown> = Promise.resolve();
    await service.database.engineTransaction(async (query) => {
      await queueReminders(query, 0);
      paused = user.api.put(`/api/monitors/${monitorId}`, { json: { is_active: false } });
      const isWaiting = () =>
        service.database.asEngine((em) =>
          em.execute<object[]>(`select pid from pg_locks where not granted and locktype = 'transactionid'`),
        );
      await expect.poll(async () => (await isWaiting()).length, { timeout: 15_000 }).toBeGreaterThan(0);
    });
    await paused;
    expect(await kinds()).toEqual(['monitor.down sent', 'monitor.reminder suppressed']);
  });

  test('a suspended user gets none', async () => {
    await assign({ remind_every_seconds: 300 });
    await open();
    start();
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent']);
    const { database } = service;
    const context = { database, secretKeys: [], config: { dataDirectory: '' }, inService: true, progress: () => {} };
    await commands['user suspend']({ ...context, signal: AbortSignal.timeout(60_000) }, { email: user.email });
    await pass(6);
    await lookForReminders();
    expect(await kinds()).toEqual(['monitor.down sent']);
  });

  test('old ones are deleted while the incident is open, but not the first fifty, which show who was told', async () => {
    await assign({ remind_every_seconds: 300 });
    await open();
    start();
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent']);
    await pass(6);
    await expect.poll(kinds, { timeout: 15_000 }).toEqual(['monitor.down sent', 'monitor.reminder sent']);
    await dispatcher?.stop();
    await asEngine(
      `insert into alerts (user_id, incident_id, provider_id, kind, payload, status, sequence, done_at)
       select user_id, incident_id, provider_id, kind, payload, status, n, done_at from alerts, generate_series(2, 52) n
        where user_id = ? and kind = 'monitor.reminder'`,
      [user.id],
    );
    await pass(40 * 24 * 60);
    for (const { runBatch } of monitoringDeletions(service.database, 35)) await runBatch();
    expect(await kinds()).toEqual(['monitor.down sent', ...Array(50).fill('monitor.reminder sent')]);
    start();
    await expect.poll(kinds, { timeout: 15_000 }).toHaveLength(52);
  });
});
