// What is sent to those who keep an incident open when a monitor is paused, repointed or deleted: nothing else would end it.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { openIncidents, resolveIncidents } from '../../../src/monitoring/engine/record-incidents.ts';
import { queueTlsWarnings } from '../../../src/monitoring/engine/record-tls-warnings.ts';
import { wakeDispatcher } from '../../../src/monitoring/wake.ts';
import { openIncidents as openAtPagerDuty, pagerDutyEvent } from '../../support/pagerduty-receiver.ts';
import { startReceivers } from '../../support/receivers.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { setScript } from '../../support/set-script.ts';
import { scripts } from '../../support/web-server.ts';
import { createMonitor } from '../factories.ts';

let receivers: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;
let user: TestUser;
let monitor: { id: number; path: string };
let pagerDuty: number;
let people: number;

beforeAll(async () => {
  receivers = await startReceivers();
  service = await startService({ delivery: receivers.delivery }, { net: receivers.net, engine: true });
});
beforeEach(async () => {
  user = await service.createUser();
  monitor = await createMonitor(user, { interval: 86_400, friendly_name: `Monitor of ${user.id}` });
  await service.database.asEngine((em) =>
    em.execute(`update monitors set next_check_at = app_now() + interval '1 day', claim_token = null where id = ?`, [monitor.id], 'run'),
  );
  const create = async (json: object): Promise<number> => {
    const { id } = (await user.api.post('/api/providers', { json })).body.data;
    await user.api.post(`${monitor.path}/notifications`, { json: { provider_id: id } });
    return id;
  };
  [pagerDuty, people] = [await create(receivers.providers.pagerduty), await create(receivers.providers.telegram)];
});
afterAll(async () => {
  await service.stop();
  await receivers.close();
});

/** The events about this monitor. */
const events = () =>
  receivers.pagerDuty.requests
    .map(({ body }) => pagerDutyEvent(body))
    .filter((event) => event.event_action === 'resolve' || event.payload.component === `Monitor of ${user.id}`);
const actions = () => {
  const keys = new Set(events().flatMap((event) => (event.event_action === 'trigger' ? [event.dedup_key] : [])));
  return events().flatMap(({ event_action: action, dedup_key: key }) => (keys.has(key) ? [action] : []));
};
interface Delivery {
  id: number;
  event: string;
  status: string;
  last_error: string | null;
}
const eventOf = ({ event }: Delivery) => event;
/** The provider gets no message for now. */
const pause = (provider: number) =>
  service.database.asEngine((em) =>
    em.execute(`update providers set next_message_at = app_now() + interval '1 hour' where id = ?`, [provider], 'run'),
  );
const resume = (provider: number) =>
  service.database.asEngine(async (em) => {
    await em.execute('update providers set next_message_at = null where id = ?', [provider], 'run');
    await em.execute(
      `update alerts set next_attempt_at = app_now() where provider_id = ? and status = 'queued' and lease_token is null`,
      [provider],
      'run',
    );
    await queryInTransaction(em)(wakeDispatcher({}));
  });
const deliveries = async (provider: number): Promise<Delivery[]> => (await user.api.get(`/api/providers/${provider}/deliveries`)).body.data;

/** As the engine does it. */
const engine = (work: (query: ReturnType<typeof queryInTransaction>) => Promise<unknown>, status: string) =>
  service.database.asEngine(async (em) => {
    await em.execute(
      `update monitors set status = ?, first_failed_at = app_now() - interval '10 minutes', first_cause = 'HTTP 503', last_checked_at = app_now(),
         tls_expires_at = app_now() + interval '5 days' where id = ?`,
      [status, monitor.id],
      'run',
    );
    const query = queryInTransaction(em);
    await work(query);
    await query(wakeDispatcher({}));
  });
const goDown = () => engine((query) => openIncidents(query, [monitor.id]), 'down');
const recover = () => engine((query) => resolveIncidents(query, [monitor.id]), 'up');
const warn = () => engine((query) => queueTlsWarnings(query, [monitor.id]), 'up');

const bulk = (json: object) => user.api.post('/api/monitors/bulk', { json: { ids: [monitor.id], ...json } });
const until = new Date(Date.now() + 365 * 86_400_000).toISOString();

describe('an open incident', () => {
  test.each<[string, () => Promise<{ status: number }>]>([
    ['paused', () => user.api.put(monitor.path, { json: { is_active: false } })],
    ['put in maintenance', () => user.api.put(monitor.path, { json: { maintenance_until: until } })],
    ['repointed', () => user.api.put(monitor.path, { json: { url: 'https://other.example/' } })],
    ['deleted', () => user.api.delete(monitor.path)],
    ['paused with others', () => bulk({ action: 'pause' })],
    ['deleted with others', () => bulk({ action: 'delete' })],
  ])('is resolved at PagerDuty when its monitor is %s, and people get no message', async (_, change) => {
    await goDown();
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger']);
    await expect.poll(async () => (await deliveries(people)).length, { timeout: 15_000 }).toBe(1);
    expect((await change()).status).toBe(200);
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger', 'resolve']);
    expect(openAtPagerDuty(events())).toEqual([]);
    expect((await deliveries(people)).map(eventOf).filter((event: string) => event !== 'monitor.down')).toEqual([]);
    const [end] = await deliveries(pagerDuty);
    expect(end).toMatchObject({ event: 'monitor.recovered', monitor_id: monitor.id, status: 'sent' });
  });

  test('is not resolved when its monitor is renamed', async () => {
    await goDown();
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger']);
    expect((await user.api.put(monitor.path, { json: { friendly_name: 'Renamed' } })).status).toBe(200);
    expect((await deliveries(pagerDuty)).map(eventOf)).toEqual(['monitor.down']);
  });

  test('is not resolved again if the monitor has recovered', async () => {
    await goDown();
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger']);
    await recover();
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger', 'resolve']);
    expect((await user.api.put(monitor.path, { json: { is_active: false } })).status).toBe(200);
    expect((await deliveries(pagerDuty)).map(eventOf)).toEqual(['monitor.recovered', 'monitor.down']);
    expect((await bulk({ action: 'delete' })).status).toBe(200);
    expect(await deliveries(pagerDuty)).toEqual([]);
  });

  test('is not resolved if nobody was told of it', async () => {
    await pause(pagerDuty);
    await goDown();
    expect((await user.api.put(monitor.path, { json: { is_active: false } })).status).toBe(200);
    expect(await deliveries(pagerDuty)).toMatchObject([{ event: 'monitor.down', status: 'suppressed' }]);
  });

  test.each(['paused', 'deleted'])('is resolved if the response to it was lost before the monitor was %s', async (what) => {
    const restore = setScript(receivers.pagerDuty, (_, response) => response.destroy());
    await goDown();
    await expect.poll(async () => (await deliveries(pagerDuty))[0]?.last_error, { timeout: 15_000 }).toBeTruthy();
    restore();
    await (what === 'paused' ? user.api.put(monitor.path, { json: { is_active: false } }) : user.api.delete(monitor.path));
    await expect.poll(() => actions().at(-1), { timeout: 15_000 }).toBe('resolve');
  });

  test.each(['recovered', 'paused'])('is resolved if the monitor is deleted before the end is sent, because it has %s', async (what) => {
    await goDown();
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger']);
    await pause(pagerDuty);
    await (what === 'recovered' ? recover() : user.api.put(monitor.path, { json: { is_active: false } }));
    expect((await user.api.delete(monitor.path)).status).toBe(200);
    expect((await deliveries(pagerDuty)).map(eventOf)).toEqual(['monitor.recovered']);
    await resume(pagerDuty);
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger', 'resolve']);
  });

  test('is resolved beyond a limit', async () => {
    await goDown();
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger']);
    await service.database.asEngine((em) =>
      em.execute(
        `insert into message_counts
         select ?, 'provider ' || ?, date_trunc('hour', app_now(), 'UTC') + n * interval '1 hour', 2000 from generate_series(0, 1) n
             on conflict (user_id, counter, period_start) do update set messages = 2000`,
        [user.id, pagerDuty],
        'run',
      ),
    );
    expect((await user.api.delete(monitor.path)).status).toBe(200);
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger', 'resolve']);
  });

  test.each(['recovered', 'paused'])(
    'that has %s is resolved for those who were told only by a reminder, and are not assigned any more',
    async (end) => {
      const late: number = (await user.api.post('/api/providers', { json: receivers.providers.pagerduty })).body.data.id;
      await goDown();
      const assignment = { provider_id: late, remind_every_seconds: 300 };
      await user.api.post(`${monitor.path}/notifications`, { json: assignment });
      await service.database.asEngine((em) => em.execute('update incidents set remind_at = app_now() where user_id = ?', [user.id], 'run'));
      await service.database.asUser(user.id, (em) =>
        em.execute(`update notifications set created_at = app_now() - interval '10 minutes'`, [], 'run'),
      );
      await engine(async (query) => query(wakeDispatcher({})), 'down');
      const log = async () => (await deliveries(late)).map(({ event, status }) => `${event} ${status}`);
      await expect.poll(log, { timeout: 15_000 }).toEqual(['monitor.reminder sent']);
      const reminder = (await deliveries(late))[0];
      await user.api.delete(`${monitor.path}/notifications`, { json: { provider_id: late } });
      await (end === 'recovered' ? recover() : user.api.put(monitor.path, { json: { is_active: false } }));
      await expect.poll(log, { timeout: 15_000 }).toEqual(['monitor.recovered sent', 'monitor.reminder sent']);
      await user.api.post(`/api/deliveries/${reminder?.id}/redeliver`);
      await expect.poll(log, { timeout: 15_000 }).toEqual(['monitor.recovered sent', 'monitor.reminder suppressed']);
    },
  );

  test('that was told after a delay, and failed until the monitor recovered, is told and resolved', async () => {
    const restore = setScript(receivers.pagerDuty, scripts.respond('busy', 503));
    await user.api.post(`${monitor.path}/notifications`, { json: { provider_id: pagerDuty, delay_seconds: 1 } });
    await goDown();
    await expect.poll(async () => (await deliveries(pagerDuty))[0]?.last_error, { timeout: 15_000 }).toContain('503');
    await recover();
    restore();
    await resume(pagerDuty);
    await expect.poll(() => actions().slice(-2), { timeout: 20_000 }).toEqual(['trigger', 'resolve']);
    expect((await deliveries(pagerDuty)).map(({ status }) => status)).toEqual(['sent', 'sent']);
  });

  test('cannot be opened again after its end', async () => {
    await goDown();
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger']);
    await recover();
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger', 'resolve']);
    for (const provider of [pagerDuty, people]) {
      const down = (await deliveries(provider)).find(({ event }) => event === 'monitor.down');
      expect((await user.api.post(`/api/deliveries/${down?.id}/redeliver`)).status).toBe(202);
    }
    const status = async (provider: number) =>
      (await deliveries(provider))
        .filter(({ event }) => event === 'monitor.down')
        .map((delivery) => [delivery.status, delivery.last_error]);
    await expect.poll(() => status(pagerDuty), { timeout: 15_000 }).toEqual([['suppressed', 'not sent: the incident is resolved']]);
    await expect.poll(() => status(people), { timeout: 15_000 }).toEqual([['sent', null]]);
    expect(actions()).toEqual(['trigger', 'resolve']);
  });
});

describe('a warning of a certificate', () => {
  test.each<[string, () => Promise<{ status: number }>]>([
    ['repointed', () => user.api.put(monitor.path, { json: { url: 'https://other.example/' } })],
    ['deleted', () => user.api.delete(monitor.path)],
    ['deleted with others', () => bulk({ action: 'delete' })],
  ])('is resolved at PagerDuty when its monitor is %s, and people get no message', async (_, change) => {
    await warn();
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger']);
    expect((await change()).status).toBe(200);
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger', 'resolve']);
    expect(openAtPagerDuty(events())).toEqual([]);
    expect((await deliveries(people)).map(eventOf).filter((event) => event !== 'monitor.tls_expiring')).toEqual([]);
  });

  test('is resolved if the monitor is deleted before the end is sent, and although a second warning was not', async () => {
    await warn();
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger']);
    await pause(pagerDuty);
    await service.database.asEngine((em) => em.execute('update monitors set tls_warnings = 1 where id = ?', [monitor.id], 'run'));
    await warn();
    expect((await deliveries(pagerDuty)).map(({ status }) => status)).toEqual(['queued', 'sent']);
    await user.api.put(monitor.path, { json: { url: 'https://other.example/' } });
    expect((await deliveries(pagerDuty)).map(({ event, status }) => `${event} ${status}`)).toEqual([
      'monitor.tls_renewed queued',
      'monitor.tls_expiring suppressed',
      'monitor.tls_expiring sent',
    ]);
    // What ends something is left to those who are not assigned any more.
    await user.api.delete(`${monitor.path}/notifications`, { json: { provider_id: pagerDuty } });
    await user.api.delete(monitor.path);
    expect(await deliveries(pagerDuty)).toMatchObject([{ event: 'monitor.tls_renewed', status: 'queued' }]);
    await resume(pagerDuty);
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger', 'resolve']);
  });

  test('is resolved also if it is a second warning about the same certificate, after another server had a new one', async () => {
    const log = async () => (await deliveries(pagerDuty)).map(eventOf);
    await warn();
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger']);
    await service.database.asEngine((em) =>
      em.execute(
        `insert into alerts (user_id, monitor_id, provider_id, kind, payload)
         select user_id, monitor_id, provider_id, 'monitor.tls_renewed', payload || jsonb_build_object('type', 'monitor.tls_renewed',
           'replacedExpiry', payload #>> '{data,monitor,tls_expires_at}') from alerts where provider_id = ?`,
        [pagerDuty],
        'run',
      ),
    );
    await service.database.asEngine((em) =>
      em.execute(
        `insert into alerts (user_id, monitor_id, provider_id, kind, payload)
         select user_id, monitor_id, provider_id, kind, payload from alerts where provider_id = ? and kind = 'monitor.tls_expiring'`,
        [pagerDuty],
        'run',
      ),
    );
    await resume(pagerDuty);
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger', 'resolve', 'trigger']);
    expect((await user.api.put(monitor.path, { json: { url: 'https://other.example/' } })).status).toBe(200);
    expect((await log())[0]).toBe('monitor.tls_renewed');
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger', 'resolve', 'trigger', 'resolve']);
  });

  test('stays when the monitor is paused', async () => {
    await warn();
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger']);
    await user.api.put(monitor.path, { json: { is_active: false } });
    expect((await deliveries(pagerDuty)).map(eventOf)).toEqual(['monitor.tls_expiring']);
  });
});
