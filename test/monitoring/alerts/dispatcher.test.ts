import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { retryDelaySeconds } from '../../../src/monitoring/alerts/alert-sender.ts';
import { startEngine } from '../../../src/monitoring/engine/start-engine.ts';
import { wakeDispatcher } from '../../../src/monitoring/wake.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { queueAlerts } from '../../faults/support/queue-alerts.ts';
import { startReceivers } from '../../support/receivers.ts';
import { alertName, namedAlert } from '../../support/sample-event.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { setScript } from '../../support/set-script.ts';
import { startTestClock, type TestClock } from '../../support/test-clock.ts';
import { scripts } from '../../support/web-server.ts';
import { createMonitor, providerTypes } from '../factories.ts';
import { queueOutages } from './queue-outages.ts';

describe('retryDelaySeconds', () => {
  test('grows from 1 second to 15 minutes', () => {
    const delays = [1, 2, 3, 8, 11, 50].map((attempts) => retryDelaySeconds(attempts, undefined, 0.5));
    expect(delays).toEqual([1, 2, 4, 128, 900, 900]);
  });

  test('has 25 % jitter', () => {
    expect(retryDelaySeconds(1, undefined, 0)).toBe(0.75);
    expect(retryDelaySeconds(1, undefined, 1)).toBe(1.25);
  });

  test("is never shorter than the receiver's Retry-After", () => {
    expect(retryDelaySeconds(1, 30, 0.5)).toBe(30);
  });
});

describe('delivery', () => {
  let receivers: Awaited<ReturnType<typeof startReceivers>>;
  let service: TestService;
  let user: TestUser;
  let monitorId: number;
  let incidentId: number;
  let clock: TestClock;

  beforeAll(async () => {
    clock = startTestClock();
    receivers = await startReceivers();
    service = await startService({ delivery: receivers.delivery }, { net: receivers.net, engine: true });
  });
  beforeEach(async () => {
    user = await service.createUser();
    monitorId = (await createMonitor(user, { is_active: false })).id;
    const [incident] = await service.database.asEngine((em) =>
      em.execute<{ id: number }[]>(
        `insert into incidents (user_id, monitor_id, started_at, cause) values (?, ?, now(), 'HTTP 503') returning id`,
        [user.id, monitorId],
      ),
    );
    incidentId = incident?.id ?? 0;
  });
  afterAll(async () => {
    await service.stop();
    await receivers.close();
    clock.stop();
  });

  async function createProvider(type: keyof typeof receivers.providers): Promise<number> {
    return (await user.api.post('/api/providers', { json: receivers.providers[type] })).body.data.id;
  }

  function queueAlert(providerId: number, state: 'down' | 'recovered', name: string, age = '0 hours') {
    return service.database.asEngine(async (em) => {
      await em.execute(
        `insert into alerts (user_id, incident_id, provider_id, kind, payload, created_at, queued_at)
         values (?, ?, ?, ${namedAlert('?', `monitor.${state}`)}, now() - ?::interval, now() - ?::interval)`,
        [user.id, incidentId, providerId, name, age, age],
      );
      await queryInTransaction(em)(wakeDispatcher({}));
    });
  }

  /** Makes the alerts of the user due, instead of waiting for the next attempt. */
  const makeDue = () =>
    service.database.asEngine(async (em) => {
      // In the order in which the dispatcher locks them, so that neither waits for the other.
      await em.execute('update providers set next_message_at = null where user_id = ?', [user.id], 'run');
      await em.execute(`update alerts set next_attempt_at = now() where user_id = ? and status = 'queued'`, [user.id], 'run');
      await queryInTransaction(em)(wakeDispatcher({}));
    });
  /** Aborts attempts that hang. */
  const timeOut = () => clock.advance(10_000);

  const readAlerts = () =>
    service.database.asUser(user.id, (em) =>
      em.execute<{ kind: string; status: string; attempts: number; last_error: string | null }[]>(
        'select kind, status, attempts, last_error from alerts order by id',
      ),
    );
  const statuses = async (kind = 'monitor.') =>
    (await readAlerts()).filter((alert) => alert.kind.startsWith(kind)).map(({ status }) => status);
  const firstAlert = async () => (await readAlerts())[0];

  test('counts every outcome from zero, so that Prometheus sees the first increase', async () => {
    const metrics = createMetrics();
    const log = pino({ level: 'silent' });
    const secretKeys = [Buffer.alloc(32, 1)];
    const engine = await startEngine({ config: readConfig({}), database: service.database, secretKeys, log, metrics });
    await engine.stop();
    const counted = (await metrics.alerts.get()).values.map(({ labels, value }) => [labels.channel, labels.outcome, value]);
    const outcomesOf = (channel: string) =>
      ['sent', 'retried', 'misconfigured', 'failed', 'suppressed'].map((outcome) => [channel, outcome, 0]);
    expect(counted).toEqual(providerTypes.flatMap(outcomesOf));
  });

  test('a receiver that hangs does not delay the alerts of other providers, and gets its alert later', async () => {
    const restore = setScript(receivers.telegram, scripts.hang());
    await queueAlert(await createProvider('telegram'), 'down', 'hanging');
    const others = ['email', 'slack', 'sms'] as const;
    for (const type of others) await queueAlert(await createProvider(type), 'down', `quick ${type}`);
    await expect.poll(() => statuses(), { timeout: 15_000 }).toEqual(['queued', 'sent', 'sent', 'sent']);
    for (const type of others) expect(receivers.names()[type]).toContain(`quick ${type}`);
    timeOut();
    await expect.poll(async () => (await firstAlert())?.last_error, { timeout: 15_000 }).toBe('Telegram did not respond in time.');
    restore();
    await makeDue();
    await expect.poll(firstAlert, { timeout: 15_000 }).toMatchObject({ status: 'sent', attempts: 2 });
  });

  test('waits for Retry-After, which holds for all messages to the provider, and sends the recovery only after the down alert', async () => {
    const tooManyRequests = { ok: false, error_code: 429, description: 'Too Many Requests', parameters: { retry_after: 600 } };
    const accept = receivers.telegram.script;
    // Only the down alert is rejected. The recovery would be accepted at once if it overtook it.
    const restore = setScript(receivers.telegram, (request, response) =>
      request.body.includes('first') ? scripts.respond(JSON.stringify(tooManyRequests), 429)(request, response) : accept(request, response),
    );
    const providerId = await createProvider('telegram');
    await queueAlert(providerId, 'down', 'first');
    await expect.poll(async () => (await firstAlert())?.last_error, { timeout: 15_000 }).toContain('429');
    await queueAlert(providerId, 'recovered', 'second');
    // An alert to another provider, which was queued later, shows that the dispatcher has looked at the recovery.
    await queueAlert(await createProvider('telegram'), 'down', 'third');
    // Alerts of other tests may arrive as well.
    const received = () => receivers.names().telegram.filter((name) => ['first', 'second', 'third', 'fourth'].includes(name));
    await expect.poll(received, { timeout: 15_000 }).toEqual(['first', 'third']);
    restore();
    const [due] = await service.database.asUser(user.id, (em) =>
      em.execute<{ seconds: number }[]>(
        `select extract(epoch from next_attempt_at - now())::float8 as seconds from alerts where ${alertName} = 'first'`,
      ),
    );
    expect(due?.seconds).toBeGreaterThan(540);
    expect(due?.seconds).toBeLessThan(601);
    // An alert about another incident waits as well.
    const other = await createMonitor(user, { is_active: false });
    await service.database.asEngine((em) => queueAlerts(em, { monitorId: other.id, providerId, count: 1, name: 'fourth' }));
    await queueAlert(await createProvider('slack'), 'down', 'later');
    await expect.poll(() => receivers.names().slack, { timeout: 15_000 }).toContain('later');
    expect(received()).toEqual(['first', 'third']);
    await makeDue();
    await expect.poll(() => statuses(), { timeout: 15_000 }).toEqual(['sent', 'sent', 'sent', 'sent', 'sent']);
    expect(received().toSpliced(0, 2).toSorted()).toEqual(['first', 'fourth', 'second']);
    expect(received().indexOf('second')).toBeGreaterThan(received().lastIndexOf('first'));
  });

  test.each(['email', 'slack', 'telegram', 'sms'] as const)('twelve outages at once are one message by %s', async (type) => {
    const before = receivers.received()[type].length;
    await queueOutages(service.database, { userId: user.id, monitorId, providerId: await createProvider(type), count: 12 });
    await expect.poll(() => statuses(), { timeout: 15_000 }).toEqual(Array(12).fill('sent'));
    const [text = '', ...others] = receivers.received()[type].slice(before);
    expect(others).toEqual([]);
    expect(text).toContain('12 monitors down');
    expect(text).toContain('M1: 503 Service Unavailable');
    if (type !== 'sms') expect(text).toMatch(/M10: 503 Service Unavailable\s+and 2 more/);
  });

  test('a permanent failure is stored with its reason, without secrets, and not retried', async () => {
    setScript(receivers.slack, scripts.respond('no_service', 404));
    await queueAlert(await createProvider('slack'), 'down', 'rejected');
    await expect.poll(async () => (await firstAlert())?.status, { timeout: 15_000 }).toBe('failed');
    const alert = await firstAlert();
    expect(alert).toMatchObject({ attempts: 1, last_error: 'Slack rejected the message with status 404: no_service.' });
    expect(alert?.last_error).not.toContain('hidden');
  });

  test('an alert fails permanently after 24 hours, with the reason of the last attempt', async () => {
    setScript(receivers.telegram, scripts.respond('oops', 500));
    await queueAlert(await createProvider('telegram'), 'down', 'late', '23 hours 59 minutes');
    await expect.poll(async () => (await firstAlert())?.last_error, { timeout: 15_000 }).toContain('500');
    await service.database.asEngine((em) =>
      em.execute(
        `update alerts set queued_at = queued_at - interval '1 hour', next_attempt_at = app_now() where user_id = ?`,
        [user.id],
        'run',
      ),
    );
    await expect.poll(async () => (await firstAlert())?.status, { timeout: 15_000 }).toBe('failed');
    expect((await firstAlert())?.last_error).toContain('500');
  });

  describe('caps', () => {
    /** Sets how many messages were sent in this period and the next one, in case that it begins during the test. */
    function setCount(counter: string, period: 'hour' | 'day', messages: number) {
      return service.database.asEngine((em) =>
        em.execute(
          `insert into message_counts (user_id, counter, period_start, messages)
           select ?, ?, date_trunc('${period}', now(), 'UTC') + n * interval '1 ${period}', ? from generate_series(0, 1) n`,
          [user.id, counter, messages],
          'run',
        ),
      );
    }
    const sumOf = async (counter: string) => {
      const [row] = await service.database.asEngine((em) =>
        em.execute<{ messages: number }[]>('select sum(messages)::int as messages from message_counts where user_id = ? and counter = ?', [
          user.id,
          counter,
        ]),
      );
      return row?.messages;
    };
    test('an SMS beyond the limit of the day is not sent, and says which limit it was', async () => {
      await setCount('sms', 'day', 49);
      await queueAlert(await createProvider('sms'), 'down', 'the fiftieth SMS');
      await expect.poll(() => statuses(), { timeout: 15_000 }).toEqual(['sent']);
      // Another number of the same user counts to the same limit.
      await queueAlert(await createProvider('sms'), 'down', 'one SMS too many');
      await queueAlert(await createProvider('email'), 'down', 'an e-mail');
      await expect.poll(() => statuses(), { timeout: 15_000 }).toEqual(['sent', 'suppressed', 'sent']);
      expect((await readAlerts())[1]?.last_error).toBe('the limit of 50 SMS per day is reached');
      expect(receivers.names().sms).not.toContain('one SMS too many');
      // The user is told of it once, and that counts as well.
      await queueAlert(await createProvider('sms'), 'down', 'another SMS too many');
      await expect.poll(() => statuses(), { timeout: 15_000 }).toEqual(['sent', 'suppressed', 'sent', 'suppressed']);
      await expect.poll(() => statuses('alerts.suppressed'), { timeout: 15_000 }).toEqual(['sent']);
      expect(receivers.received().sms.at(-1)).toContain('Limit reached: 50 SMS per day.');
      expect(await sumOf('sms')).toBe(100);
    });

    test('a message beyond the limit of the hour for a provider is not sent', async () => {
      const [full, other] = [await createProvider('email'), await createProvider('email')];
      await setCount(`provider ${full}`, 'hour', 100);
      await queueAlert(full, 'down', 'one mail too many');
      await queueAlert(other, 'down', 'to another provider');
      await expect.poll(() => statuses(), { timeout: 15_000 }).toEqual(['suppressed', 'sent']);
      await expect.poll(() => statuses('alerts.suppressed'), { timeout: 15_000 }).toEqual(['sent']);
      expect((await firstAlert())?.last_error).toBe('the limit of 100 messages per hour for this provider is reached');
    });

    test('the recovery of a sent alert is sent beyond the limit, and counted; that of a suppressed one is not sent', async () => {
      const [sent, suppressed] = [await createProvider('sms'), await createProvider('sms')];
      await setCount('sms', 'day', 49);
      await queueAlert(sent, 'down', 'sent down');
      await expect.poll(() => statuses(), { timeout: 15_000 }).toEqual(['sent']);
      await queueAlert(suppressed, 'down', 'suppressed down');
      await queueAlert(sent, 'recovered', 'recovery of the sent one');
      await queueAlert(suppressed, 'recovered', 'recovery of the suppressed one');
      await expect.poll(() => statuses(), { timeout: 15_000 }).toEqual(['sent', 'suppressed', 'sent', 'suppressed']);
      expect(receivers.names().sms).toContain('recovery of the sent one');
      await expect.poll(() => statuses('alerts.suppressed'), { timeout: 15_000 }).toEqual(['sent']);
      expect(await sumOf('sms')).toBe(49 + 49 + 3);
    });

    test('a retry is not counted again', async () => {
      const restore = setScript(receivers.twilio, scripts.respond('{"message":"oops"}', 500));
      const providerId = await createProvider('sms');
      await queueAlert(providerId, 'down', 'retried');
      await expect.poll(async () => (await firstAlert())?.last_error, { timeout: 15_000 }).toContain('500');
      restore();
      await makeDue();
      await expect.poll(readAlerts, { timeout: 15_000 }).toMatchObject([{ status: 'sent', attempts: 2 }]);
      expect([await sumOf('sms'), await sumOf(`provider ${providerId}`)]).toEqual([1, 1]);
    });
  });

  test('a user whose receivers hang delays neither other channels nor other users of the channel', async () => {
    const respond = receivers.telegram.script;
    const hanging = new Set<unknown>();
    setScript(receivers.telegram, (request, response) => {
      if (!request.body.includes('hanging')) return respond(request, response);
      hanging.add(response);
      response.once('close', () => hanging.delete(response));
    });
    onTestFinished(timeOut);
    await Promise.all(Array.from({ length: 60 }, () => createProvider('telegram')));
    const quickSlack = await createProvider('slack');
    await service.database.asEngine(async (em) => {
      await em.execute(
        `insert into alerts (user_id, incident_id, provider_id, kind, payload)
         select user_id, ?, id, ${namedAlert("'hanging'")} from providers where user_id = ? and provider_type = 'telegram'`,
        [incidentId, user.id],
        'run',
      );
      await queryInTransaction(em)(wakeDispatcher({}));
    });
    // One user alone gets 40 of the 50 slots.
    await expect.poll(() => hanging.size, { timeout: 30_000 }).toBe(40);
    await queueAlert(quickSlack, 'down', 'quick on another channel');
    const other = await service.createUser();
    const monitor = await createMonitor(other, { is_active: false });
    const { body } = await other.api.post('/api/providers', { json: receivers.providers.telegram });
    await service.database.asEngine((em) =>
      queueAlerts(em, { monitorId: monitor.id, providerId: body.data.id, count: 1, name: 'quick of another user' }),
    );
    const quick = () => [...receivers.names().slack, ...receivers.names().telegram].filter((name) => name.startsWith('quick o'));
    await expect.poll(() => quick().toSorted(), { timeout: 15_000 }).toEqual(['quick of another user', 'quick on another channel']);
  });
});
