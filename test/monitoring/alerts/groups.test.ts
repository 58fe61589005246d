// What people get if many alerts wait, and how a provider pauses.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { batchesOf } from '../../../src/monitoring/alerts/batches.ts';
import type { Dispatcher } from '../../../src/monitoring/alerts/dispatcher.ts';
import type { LeasedAlert } from '../../../src/monitoring/alerts/lease-alerts.ts';
import { pauseSeconds } from '../../../src/monitoring/alerts/provider-state.ts';
import { DeliveryFailed, type Message } from '../../../src/monitoring/channels/channel.ts';
import type { EventType } from '../../../src/monitoring/messages/event.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor, createProvider } from '../factories.ts';
import { startDispatcher } from './controlled-dispatcher.ts';
import { queueOutages } from './queue-outages.ts';

describe('batchesOf', () => {
  const alertsOf = (kinds: EventType[]) => kinds.map((kind, id) => ({ id, kind }) as LeasedAlert);
  const sizes = (kinds: EventType[], audience: 'people' | 'programs') =>
    batchesOf(alertsOf(kinds), { audience }).map(({ length }) => length);

  test('more than five alerts for people become one message, and those for programs never', () => {
    expect(sizes(Array(5).fill('monitor.down'), 'people')).toEqual([1, 1, 1, 1, 1]);
    expect(sizes(Array(6).fill('monitor.down'), 'people')).toEqual([6]);
    expect(sizes(Array(6).fill('monitor.down'), 'programs')).toEqual([1, 1, 1, 1, 1, 1]);
  });

  test('what is not about a monitor keeps a message of its own', () => {
    expect(sizes(['test', 'alerts.suppressed', ...Array<EventType>(6).fill('monitor.recovered')], 'people')).toEqual([6, 1, 1]);
  });

  test('outages come first, then certificates, then recoveries', () => {
    const kinds: EventType[] = [
      'monitor.recovered',
      'monitor.tls_expiring',
      'monitor.down',
      'monitor.recovered',
      'monitor.down',
      'monitor.down',
    ];
    const [group = []] = batchesOf(alertsOf(kinds), { audience: 'people' });
    expect(group.map(({ id }) => id)).toEqual([2, 4, 5, 1, 0, 3]);
  });
});

test('the pause of a provider grows from a second to a minute, and is never shorter than it asked for', () => {
  expect([0, 1, 3, 6, 50].map((failed) => pauseSeconds(failed))).toEqual([1, 2, 8, 60, 60]);
  expect(pauseSeconds(0, 600)).toBe(600);
});

describe('dispatcher', () => {
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
    [monitorId, providerId] = [(await createMonitor(user, { is_active: false })).id, (await createProvider(user)).id];
    messages.length = 0;
  });
  afterEach(async () => {
    await dispatcher?.stop();
    await service.database.asEngine((em) => em.execute(`update alerts set status = 'failed' where status = 'queued'`, [], 'run'));
  });
  afterAll(() => service.stop());

  function start(send: (message: Message) => Promise<void> = async () => {}, audience: 'people' | 'programs' = 'people') {
    const collect = (message: Message) => {
      messages.push(message);
      return send(message);
    };
    const started = startDispatcher({ database: service.database, send: collect, audience });
    dispatcher = started.dispatcher;
    return started.metrics;
  }

  const queue = (count: number, { provider = providerId } = {}) =>
    queueOutages(service.database, { userId: user.id, monitorId, providerId: provider, count });
  const messagesOfHour = async () => {
    const [row] = await service.database.asEngine((em) =>
      em.execute<{ messages: number }[]>('select max(messages)::int as messages from message_counts where user_id = ? and counter = ?', [
        user.id,
        `provider ${providerId}`,
      ]),
    );
    return row?.messages;
  };
  const readAlerts = (provider = providerId) =>
    service.database.asUser(user.id, (em) =>
      em.execute<{ status: string; attempts: number; error: string | null }[]>(
        'select status, attempts, last_error as error from alerts where provider_id = ? order by id',
        [provider],
      ),
    );
  const countOf = async (status: string, provider = providerId) =>
    (await readAlerts(provider)).filter((alert) => alert.status === status).length;
  const readProvider = async () => {
    const [row] = await service.database.asUser(user.id, (em) =>
      em.execute<Record<string, unknown>[]>(
        `select last_delivery_error as error, failed_attempts as attempts, failing_since is not null as failing,
           round(extract(epoch from next_message_at - app_now()))::int as pause,
           (select next_message_at > max(done_at) from alerts where provider_id = providers.id) as paused_since from providers where id = ?`,
        [providerId],
      ),
    );
    return row;
  };

  test('twelve outages become one message that lists ten, and each is in the log', async () => {
    await queue(12);
    const metrics = start();
    await expect.poll(() => countOf('sent'), { timeout: 15_000 }).toBe(12);
    expect(messages.map(({ content: { title, list } }) => [title, list.length])).toEqual([['12 monitors down', 11]]);
    expect(messages[0]?.content.list).toEqual([
      ...Array.from({ length: 10 }, (_, index) => `M${index + 1}: 503 Service Unavailable`),
      'and 2 more',
    ]);
    expect(await metrics.registry.metrics()).toContain('sitekeeper_alerts_total{channel="email",outcome="sent"} 12');
    const counts = await service.database.asEngine((em) =>
      em.execute(`select messages from message_counts where user_id = ? and counter = ?`, [user.id, `provider ${providerId}`]),
    );
    expect(counts).toEqual([{ messages: 1 }]);
  });

  test('five outages are five messages, with an id each', async () => {
    await queue(5);
    start();
    await expect.poll(() => countOf('sent'), { timeout: 15_000 }).toBe(5);
    expect(messages.map(({ content }) => content.title).toSorted()).toEqual(['M1', 'M2', 'M3', 'M4', 'M5'].map((name) => `Down: ${name}`));
    expect(new Set(messages.map(({ id }) => id)).size).toBe(5);
    // The next ones are collected for some seconds.
    expect(await readProvider()).toMatchObject({ error: null, failing: false, pause: expect.any(Number) });
  });

  test('a program gets a message for each of many outages, and is not paused', async () => {
    await queue(30);
    start(undefined, 'programs');
    await expect.poll(() => countOf('sent'), { timeout: 30_000 }).toBe(30);
    expect(messages).toHaveLength(30);
    expect(await readProvider()).toMatchObject({ pause: null });
  });

  test('a group that fails is sent again as a whole, counted once, and its pause holds for the provider', async () => {
    await queue(8);
    start(() =>
      messages.length === 1 ? Promise.reject(new DeliveryFailed('Busy.', { permanent: false, retryAfterSeconds: 600 })) : Promise.resolve(),
    );
    await expect.poll(() => countOf('queued'), { timeout: 15_000 }).toBe(8);
    await expect.poll(readProvider, { timeout: 15_000 }).toMatchObject({ error: 'Busy.', attempts: 1, failing: true });
    expect((await readProvider())?.pause).toBeGreaterThan(590);
    await service.database.asEngine(async (em) => {
      await em.execute('update providers set next_message_at = null where id = ?', [providerId], 'run');
      await em.execute('update alerts set next_attempt_at = app_now() where provider_id = ?', [providerId], 'run');
    });
    dispatcher?.wake();
    await expect.poll(() => countOf('sent'), { timeout: 15_000 }).toBe(8);
    expect(messages).toHaveLength(2);
    expect(messages[0]?.id).toBe(messages[1]?.id);
    expect(await readProvider()).toMatchObject({ error: null, attempts: 0, failing: false, pause: null });
    const counts = await service.database.asEngine((em) =>
      em.execute(`select messages from message_counts where user_id = ? and counter = ?`, [user.id, `provider ${providerId}`]),
    );
    expect(counts).toEqual([{ messages: 1 }]);
  });

  test('after a failure, the alerts that wait behind it are released without an attempt', async () => {
    await queue(4);
    start(() => Promise.reject(new DeliveryFailed('Busy.', { permanent: false, retryAfterSeconds: 600 })), 'programs');
    const attempts = async () => (await readAlerts()).map((alert) => alert.attempts).toSorted();
    await expect.poll(readProvider, { timeout: 15_000 }).toMatchObject({ error: 'Busy.' });
    await expect.poll(attempts, { timeout: 15_000 }).toEqual([0, 0, 0, 1]);
    expect(messages).toHaveLength(1);
  });

  test('a message that is rejected for good does not pause the provider', async () => {
    await queue(3);
    start(() => (messages.length === 3 ? Promise.reject(new DeliveryFailed('No.', { permanent: true })) : Promise.resolve()), 'programs');
    await expect.poll(() => countOf('failed'), { timeout: 15_000 }).toBe(1);
    expect(await countOf('sent')).toBe(2);
    expect(await readProvider()).toMatchObject({ error: 'No.', paused_since: false });
  });

  test('a provider that works again gets at once what waits because it has failed', async () => {
    await queue(3);
    await service.database.asEngine(async (em) => {
      await em.execute(
        `update alerts set attempts = 9, next_attempt_at = app_now() + interval '10 minutes' where provider_id = ? and id <> (select max(id) from alerts)`,
        [providerId],
        'run',
      );
      await em.execute(
        `update providers set failed_attempts = 3, failing_since = app_now(), last_delivery_error = 'x' where id = ?`,
        [providerId],
        'run',
      );
    });
    start(undefined, 'programs');
    await expect.poll(() => countOf('sent'), { timeout: 15_000 }).toBe(3);
  });

  test('a provider that fails again has been failing since the first failure', async () => {
    await queue(1);
    const setSince = `update providers set failing_since = app_now() - interval '30 minutes', failed_attempts = 2 where id = ?`;
    await service.database.asEngine((em) => em.execute(setSince, [providerId], 'run'));
    start(() => Promise.reject(new DeliveryFailed('Busy.', { permanent: false })));
    await expect.poll(readProvider, { timeout: 15_000 }).toMatchObject({ error: 'Busy.', attempts: 3 });
    const [row] = await service.database.asUser(user.id, (em) =>
      em.execute<{ minutes: number }[]>(
        'select extract(epoch from app_now() - failing_since)::float8 / 60 as minutes from providers where id = ?',
        [providerId],
      ),
    );
    expect(row?.minutes).toBeGreaterThanOrEqual(30);
  });

  test('messages of more than half a minute ago do not delay the next one', async () => {
    await queue(1);
    const setBurst = `update providers set burst_started_at = app_now() - interval '31 seconds', burst_messages = 9 where id = ?`;
    await service.database.asEngine((em) => em.execute(setBurst, [providerId], 'run'));
    start();
    await expect.poll(() => countOf('sent'), { timeout: 15_000 }).toBe(1);
    expect(await readProvider()).toMatchObject({ pause: null });
  });

  test('beyond the limit, a group is suppressed as a whole, and the user is told once', async () => {
    await service.database.asEngine((em) =>
      em.execute(
        `insert into message_counts select ?, 'provider ' || ?, date_trunc('hour', app_now(), 'UTC') + n * interval '1 hour', 100 from generate_series(0, 1) n`,
        [user.id, providerId],
        'run',
      ),
    );
    await queue(7);
    start();
    await expect.poll(() => countOf('suppressed'), { timeout: 15_000 }).toBe(7);
    await expect.poll(() => countOf('sent'), { timeout: 15_000 }).toBe(1);
    expect(messages.map(({ event }) => event.type)).toEqual(['alerts.suppressed']);
    expect(messages[0]?.event.data).toMatchObject({
      provider_id: providerId,
      provider_type: 'email',
      limit: expect.stringContaining('100 messages per hour'),
      until: expect.stringMatching(/T\d\d:00:00\.000Z$/),
    });
    const { until, timestamp } = { ...(messages[0]?.event.data as { until: string }), timestamp: messages[0]?.event.timestamp ?? '' };
    expect(Date.parse(until) - Date.parse(timestamp)).toBeGreaterThan(0);
    expect(Date.parse(until) - Date.parse(timestamp)).toBeLessThanOrEqual(3_600_000);
  });

  test('beyond the limit, only those recoveries of a group are sent that end what was sent', async () => {
    const reachLimit = `insert into message_counts
      select ?, 'provider ' || ?, date_trunc('hour', app_now(), 'UTC') + n * interval '1 hour', 100 from generate_series(0, 1) n`;
    await queue(3);
    await service.database.asEngine(async (em) => {
      await em.execute(`update alerts set status = 'sent', done_at = app_now() where provider_id = ?`, [providerId], 'run');
      await em.execute(
        `insert into alerts (user_id, incident_id, provider_id, kind, payload)
         select user_id, incident_id, provider_id, 'monitor.recovered', jsonb_set(payload, '{type}', '"monitor.recovered"') from alerts
          where provider_id = ?`,
        [providerId],
        'run',
      );
      await em.execute(reachLimit, [user.id, providerId], 'run');
    });
    await queue(5);
    start();
    await expect.poll(() => countOf('suppressed'), { timeout: 15_000 }).toBe(5);
    await expect.poll(() => countOf('sent'), { timeout: 15_000 }).toBe(7);
    expect(messages.map(({ content }) => content.title)).toEqual(['3 monitors recovered', 'Alerts are not sent for now']);
    const sent = await service.database.asUser(user.id, (em) =>
      em.execute<{ kind: string }[]>(`select kind from alerts where status = 'sent' order by id`),
    );
    expect(sent.map(({ kind }) => kind).slice(3)).toEqual([...Array(3).fill('monitor.recovered'), 'alerts.suppressed']);
    // The recoveries and the notice.
    expect(await messagesOfHour()).toBe(102);
  });

  test('beyond the limit, recoveries are collected for ten minutes, and people get at most as many messages again', async () => {
    const recoveries = async (count: number) => {
      await queue(count);
      await service.database.asEngine(async (em) => {
        await em.execute(
          `insert into alerts (user_id, incident_id, provider_id, kind, payload)
           select user_id, incident_id, provider_id, 'monitor.recovered', jsonb_set(payload, '{type}', '"monitor.recovered"') from alerts
            where provider_id = ? and status = 'queued'`,
          [providerId],
          'run',
        );
        await em.execute(
          `update alerts set status = 'sent', done_at = app_now() where provider_id = ? and kind = 'monitor.down' and status = 'queued'`,
          [providerId],
          'run',
        );
      });
    };
    const setMessages = (messages: number) =>
      service.database.asEngine((em) =>
        em.execute(
          `insert into message_counts
           select ?, counter, date_trunc('hour', app_now(), 'UTC') + n * interval '1 hour', ?
             from generate_series(0, 1) n, unnest(array['provider ' || ?, 'told provider ' || ?]) counter
               on conflict (user_id, counter, period_start) do update set messages = excluded.messages`,
          [user.id, messages, providerId, providerId],
          'run',
        ),
      );
    await setMessages(100);
    await recoveries(2);
    start();
    await expect.poll(() => countOf('sent'), { timeout: 15_000 }).toBe(3);
    await expect.poll(() => messages.length).toBe(1);
    const { pause } = (await readProvider()) as { pause: number };
    const [untilHour] = await service.database.asEngine((em) =>
      em.execute<{ seconds: number }[]>(
        `select extract(epoch from date_trunc('hour', app_now(), 'UTC') + interval '1 hour' - app_now())::float8 as seconds`,
      ),
    );
    expect(pause).toBeGreaterThan(Math.min(600, untilHour?.seconds ?? 0) - 30);
    expect(pause).toBeLessThanOrEqual(600);
    await setMessages(201);
    await service.database.asEngine((em) => em.execute('update providers set next_message_at = null where id = ?', [providerId], 'run'));
    dispatcher?.wake();
    await expect.poll(() => countOf('suppressed'), { timeout: 15_000 }).toBe(1);
    expect(messages).toHaveLength(1);
  });

  test("after an hour of failures, the user's other providers tell it, once", async () => {
    const other = (await createProvider(user)).id;
    const setFailing = (minutes: number) =>
      service.database.asEngine((em) =>
        em.execute(
          `update providers set failing_since = app_now() - ?::int * interval '1 minute', last_delivery_error = 'Gone.' where id = ?`,
          [minutes, providerId],
          'run',
        ),
      );
    await setFailing(59);
    start();
    await queue(1, { provider: other });
    dispatcher?.wake();
    await expect.poll(() => countOf('sent', other), { timeout: 15_000 }).toBe(1);
    expect(messages.map(({ event }) => event.type)).toEqual(['monitor.down']);
    await setFailing(61);
    for (const expected of [2, 2]) {
      dispatcher?.wake();
      await expect.poll(() => countOf('sent', other), { timeout: 15_000 }).toBe(expected);
    }
    await queue(1, { provider: other });
    dispatcher?.wake();
    await expect.poll(() => countOf('sent', other), { timeout: 15_000 }).toBe(3);
    expect(messages.map(({ event }) => event.type)).toEqual(['monitor.down', 'provider.failing', 'monitor.down']);
    expect(messages[1]?.event.data).toMatchObject({ provider_id: providerId, provider_type: 'email', last_delivery_error: 'Gone.' });
    expect(await readAlerts()).toEqual([]);
  });
});
