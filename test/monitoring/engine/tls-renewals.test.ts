// What is sent when a certificate is replaced that users were warned of: PagerDuty keeps an incident open until then.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { recordResults } from '../../../src/monitoring/engine/record.ts';
import { openIncidents, pagerDutyEvent } from '../../support/pagerduty-receiver.ts';
import { startReceivers } from '../../support/receivers.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor } from '../factories.ts';
import { assignProvider, readAlertKinds } from '../heartbeats/heartbeat-monitors.ts';
import { claimOf, makeOverdue } from './due-monitors.ts';

let receivers: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;
let sender: TestService;
let user: TestUser;
let monitor: { id: number; path: string };
let pagerDuty: number;

const day = 24 * 60 * 60 * 1000;
const inDays = (days: number) => new Date(Math.floor(Date.now() / 1000) * 1000 + days * day);

beforeAll(async () => {
  receivers = await startReceivers();
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
  monitor = await createMonitor(user);
  const { body } = await user.api.post('/api/providers', { json: receivers.providers.pagerduty });
  pagerDuty = body.data.id;
  await user.api.post(`${monitor.path}/notifications`, { json: { provider_id: pagerDuty } });
});
afterAll(async () => {
  await sender?.stop();
  await service.stop();
  await receivers.close();
});

/** Records a check that has seen a certificate. */
async function check(expiresAt: Date | null) {
  const certificate = expiresAt ? { certificate: { expiresAt, warningDays: 14 } } : {};
  await service.database.asEngine((em) => makeOverdue(em, user.id));
  const claims = await service.database.asEngine((em) => claimOf(em, user.id, 10));
  const completed = claims.map((claim) => ({
    claim,
    result: { up: true as const, responseTimeMs: 1, ...certificate },
    startedMs: performance.now(),
  }));
  expect(completed).toHaveLength(1);
  await service.database.asEngine((em) => recordResults(queryInTransaction(em), completed));
}

const passHours = (hours: number) =>
  service.database.asEngine((em) =>
    em.execute(`update monitors set tls_warned_at = tls_warned_at - ? * interval '1 hour' where id = ?`, [hours, monitor.id], 'run'),
  );
const alerts = () => readAlertKinds(service, user);
/** The alerts are sent. */
const send = () =>
  service.database.asEngine((em) =>
    em.execute(`update alerts set status = 'sent' where user_id = ? and status = 'queued'`, [user.id], 'run'),
  );
const [warning, renewal] = ['monitor.tls_expiring', 'monitor.tls_renewed'];

test('a new certificate is reported once to those who keep an incident open, also if other checks see the old one', async () => {
  await assignProvider(user, monitor);
  const [old, renewed] = [inDays(5), inDays(90)];
  await check(old);
  expect(await alerts()).toEqual([warning, warning]);
  await send();
  for (const seen of [renewed, renewed, old, renewed, null]) await check(seen);
  await passHours(21);
  for (const seen of [old, renewed]) await check(seen);
  expect(await alerts()).toEqual([warning, warning, renewal]);
  const [alert] = await service.database.asUser(user.id, (em) =>
    em.execute<{ provider_id: number; payload: { replacedExpiry: string } }[]>(
      `select provider_id::int, payload from alerts where kind = 'monitor.tls_renewed'`,
    ),
  );
  expect(alert).toMatchObject({ provider_id: pagerDuty, payload: { replacedExpiry: old.toISOString() } });
});

test('one that expires soon as well ends the first warning, and is warned of once a day has passed', async () => {
  await check(inDays(2));
  await send();
  await check(inDays(4));
  expect(await alerts()).toEqual([warning, renewal]);
  await passHours(21);
  await check(inDays(4));
  await send();
  await check(inDays(90));
  expect(await alerts()).toEqual([warning, renewal, warning, renewal]);
});

test('both warnings of a certificate end together', async () => {
  const old = inDays(0.9);
  await check(old);
  await service.database.asEngine((em) => em.execute('update monitors set tls_warnings = 1 where id = ?', [monitor.id], 'run'));
  await passHours(21);
  await check(old);
  expect(await alerts()).toEqual([warning, warning]);
  await send();
  await check(inDays(90));
  expect(await alerts()).toEqual([warning, warning, renewal]);
});

test('the last day is warned of, although another server has a new certificate', async () => {
  await check(inDays(5));
  await send();
  await check(inDays(90));
  const old = inDays(0.9);
  await service.database.asEngine((em) =>
    em.execute('update monitors set tls_warned_expiry = ?, tls_expires_at = ? where id = ?', [old, old, monitor.id], 'run'),
  );
  await passHours(21);
  await check(old);
  expect(await alerts()).toEqual([warning, renewal, warning]);
});

test('nothing is reported if nobody was warned, or only about a certificate that expires later', async () => {
  await check(inDays(20));
  await check(inDays(90));
  await check(inDays(5));
  await send();
  await check(inDays(4));
  expect(await alerts()).toEqual([warning]);
});

test('is reported to a provider that was warned, and to no other one', async () => {
  await check(inDays(5));
  await send();
  await user.api.post(`${monitor.path}/notifications`, { json: { provider_id: pagerDuty, enabled: false } });
  const { body } = await user.api.post('/api/providers', { json: receivers.providers.pagerduty });
  await user.api.post(`${monitor.path}/notifications`, { json: { provider_id: body.data.id } });
  await check(inDays(90));
  expect(await alerts()).toEqual([warning, renewal]);
  expect((await user.api.get(`/api/providers/${pagerDuty}/deliveries`)).body.data[0]).toMatchObject({
    event: renewal,
    monitor_id: monitor.id,
    incident_id: null,
  });
});

test('a warning that waits to be sent is dropped, and nothing is reported', async () => {
  await check(inDays(5));
  await check(inDays(90));
  expect(await alerts()).toEqual([warning]);
  expect((await user.api.get(`/api/providers/${pagerDuty}/deliveries`)).body.data).toMatchObject([
    { status: 'suppressed', last_error: 'not sent: the monitor has a new certificate' },
  ]);
});

test('resolves the incident at PagerDuty that the warning has opened', async () => {
  await check(inDays(5));
  const delivery = { delivery: receivers.delivery };
  sender = await startService(delivery, { database: service.database, net: receivers.net, engine: true });
  // The tests before have left events of other users.
  const received = () =>
    receivers.pagerDuty.requests.map(({ body }) => pagerDutyEvent(body)).filter(({ dedup_key: key }) => key.includes(`-${monitor.id}-`));
  await expect.poll(() => received().length, { timeout: 20_000 }).toBe(1);
  await check(inDays(90));
  await expect.poll(() => received().length, { timeout: 20_000 }).toBe(2);
  expect(received().map(({ event_action }) => event_action)).toEqual(['trigger', 'resolve']);
  expect(received()[0]?.dedup_key).toMatch(/^sitekeeper-certificate-\d+-\d+-[0-9a-f-]{36}$/);
  expect(openIncidents(received())).toEqual([]);
});
