// What is sent to those who keep an incident open when a monitor is paused, repointed or deleted: nothing else would end it.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { openIncidents, resolveIncidents } from '../../../src/monitoring/engine/record-incidents.ts';
import { queueTlsWarnings } from '../../../src/monitoring/engine/record-tls-warnings.ts';
import { wakeDispatcher } from '../../../src/monitoring/wake.ts';
import { openIncidents as openAtPagerDuty, pagerDutyEvent } from '../../support/pagerduty-receiver.ts';
import { startReceivers } from '../../support/receivers.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
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
const deliveries = async (provider: number) => (await user.api.get(`/api/providers/${provider}/deliveries`)).body.data;

/** As the engine does it. */
const engine = (work: (query: ReturnType<typeof queryInTransaction>) => Promise<unknown>, status: string) =>
  service.database.asEngine(async (em) => {
    await em.execute(
      `update monitors set status = ?, first_failed_at = app_now(), first_cause = 'HTTP 503', last_checked_at = app_now(),
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
    expect(
      (await deliveries(people)).map(({ event }: { event: string }) => event).filter((event: string) => event !== 'monitor.down'),
    ).toEqual([]);
    const [end] = await deliveries(pagerDuty);
    expect(end).toMatchObject({ event: 'monitor.recovered', monitor_id: monitor.id, status: 'sent' });
  });

  test('is not resolved again if the monitor has recovered, or nobody was told', async () => {
    await goDown();
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger']);
    await recover();
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger', 'resolve']);
    await user.api.put(monitor.path, { json: { is_active: false } });
    await bulk({ action: 'delete' });
    expect(await deliveries(pagerDuty)).toEqual([]);
  });

  test('cannot be opened again after its end', async () => {
    await goDown();
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger']);
    await recover();
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger', 'resolve']);
    for (const provider of [pagerDuty, people]) {
      const down = (await deliveries(provider)).find(({ event }: { event: string }) => event === 'monitor.down');
      expect((await user.api.post(`/api/deliveries/${down.id}/redeliver`)).status).toBe(202);
    }
    const status = async (provider: number) =>
      (await deliveries(provider))
        .filter(({ event }: { event: string }) => event === 'monitor.down')
        .map((delivery: { status: string; last_error: string | null }) => [delivery.status, delivery.last_error]);
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
    expect((await deliveries(people)).length).toBeLessThanOrEqual(1);
  });

  test('stays when the monitor is paused', async () => {
    await warn();
    await expect.poll(actions, { timeout: 15_000 }).toEqual(['trigger']);
    await user.api.put(monitor.path, { json: { is_active: false } });
    expect((await deliveries(pagerDuty)).map(({ event }: { event: string }) => event)).toEqual(['monitor.tls_expiring']);
  });
});
