import { setTimeout as delay } from 'node:timers/promises';
import type { SqlEntityManager } from '@mikro-orm/sql';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { deleteUser } from '../../../src/accounts/users.ts';
import { SecretCipher } from '../../../src/auth/secret-cipher.ts';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { Dispatcher } from '../../../src/monitoring/alerts/dispatcher.ts';
import { markFailed } from '../../../src/monitoring/alerts/outbox.ts';
import { createChannels } from '../../../src/monitoring/channels/registry.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { queueAlerts } from '../../faults/support/queue-alerts.ts';
import { startReceivers } from '../../support/receivers.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { countTransactions } from '../count-transactions.ts';
import { createMonitor, createProvider } from '../factories.ts';

let receivers: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;

beforeAll(async () => {
  receivers = await startReceivers();
  service = await startService({ delivery: receivers.delivery });
});
afterAll(async () => {
  await service.stop();
  await receivers.close();
});

/** Starts a dispatcher that nothing wakes, so that its transactions are those of the alerts that are due when it starts. */
function startDispatcher() {
  const { counting, transactions } = countTransactions(service.database);
  const dispatcher = new Dispatcher({
    database: counting,
    channels: createChannels(receivers.delivery, receivers.net),
    cipher: new SecretCipher([Buffer.alloc(32, 1)]),
    log: pino({ level: 'silent' }),
    metrics: createMetrics(),
  });
  dispatcher.start();
  onTestFinished(() => dispatcher.stop());
  return transactions;
}

/** Lets the next delivery wait, and returns it when it is attempted. Call it to respond. Later deliveries succeed at once. */
function holdDelivery(): Promise<(status?: number) => void> {
  const respond = receivers.telegram.script;
  const release = () => {
    receivers.telegram.script = respond;
  };
  onTestFinished(release);
  return new Promise((resolve) => {
    receivers.telegram.script = (request, response) => {
      release();
      resolve((status = 200) => (status === 200 ? respond(request, response) : response.writeHead(status).end()));
    };
  });
}

/** Queues the recovery alerts of the incidents of which a provider is told. */
const queueRecoveries = (em: SqlEntityManager, providerId: number) =>
  em.execute(
    `insert into alerts (user_id, incident_id, provider_id, kind, subject, body)
     select user_id, incident_id, provider_id, 'recovered', 'S', 'B' from alerts where provider_id = ?`,
    [providerId],
    'run',
  );

interface Ids {
  monitorId: number;
  providerId: number;
}

/** Queues two alerts, and calls `drop` while the first one is being sent. Returns when the second one would have been sent. */
async function dropSecondAlert(user: TestUser, drop: (ids: Ids) => Promise<unknown>) {
  const { id: monitorId } = await createMonitor(user);
  const { id: providerId } = await createProvider(user, 'telegram');
  const attempted = holdDelivery();
  const before = receivers.telegram.requests.length;
  // Both are queued before the dispatcher starts, so that they are leased together.
  await service.database.asEngine((em) => queueAlerts(em, { monitorId, providerId, count: 2 }));
  const transactions = startDispatcher();
  const finish = await attempted;
  expect(transactions()).toBe(2); // One leased both alerts, and one counted the first.
  await drop({ providerId, monitorId });
  finish();
  // The attempt is recorded, the second alert is not found, its recovery is canceled, and the dispatcher looks for others. If it sent
  // the second alert, it would have done so before its sixth transaction.
  await expect.poll(transactions, { timeout: 15_000 }).toBe(6);
  expect(receivers.telegram.requests.length).toBe(before + 1);
}

const readAlerts = (user: TestUser) =>
  service.database.asEngine((em) =>
    em.execute('select kind, status, last_error as error, done_at is not null as done from alerts where user_id = ? order by id', [
      user.id,
    ]),
  );
const canceled = { status: 'failed', error: 'not sent: the monitor was paused or its target changed', done: true };

test.each([
  ['provider', (user: TestUser, { providerId }: Ids) => user.api.delete(`/api/providers/${providerId}`)],
  ['monitor', (user: TestUser, { monitorId }: Ids) => user.api.delete(`/api/monitors/${monitorId}`)],
  ['user', (user: TestUser) => deleteUser(service.database, user.id)],
])('deleting a %s deletes its alerts, and those that wait for a slow attempt are not sent', async (_, deleteIt) => {
  const user = await service.createUser();
  await dropSecondAlert(user, (ids) => deleteIt(user, ids));
  expect(await readAlerts(user)).toEqual([]);
});

test.each([
  ['pausing a monitor', { is_active: false }],
  ['changing its URL', { url: 'https://other.example/' }],
  ['changing its type', { type: 'ping' }],
])('%s cancels its alerts, and those that wait for a slow attempt are not sent', async (_, json) => {
  const user = await service.createUser();
  await dropSecondAlert(user, ({ monitorId }) => user.api.put(`/api/monitors/${monitorId}`, { json }));
  expect(await readAlerts(user)).toEqual([
    { kind: 'down', status: 'sent', error: null, done: true },
    { kind: 'down', ...canceled },
  ]);
});

test.each([
  ['fails', 503, { kind: 'down', ...canceled }, { kind: 'recovered', ...canceled }],
  ['succeeds', 200, { kind: 'down', status: 'sent' }, { kind: 'recovered', status: 'sent' }],
])('if the attempt that was running when the monitor was paused %s, the recovery follows it', async (_, status, ...expected) => {
  const user = await service.createUser();
  const { id: monitorId, path } = await createMonitor(user);
  const { id: providerId } = await createProvider(user, 'telegram');
  const attempted = holdDelivery();
  await service.database.asEngine(async (em) => {
    await queueAlerts(em, { monitorId, providerId, count: 1 });
    await queueRecoveries(em, providerId);
  });
  startDispatcher();
  const finish = await attempted;
  await user.api.put(path, { json: { is_active: false } });
  await user.api.put(path, { json: { friendly_name: 'Paused' } });
  expect(await readAlerts(user)).toMatchObject([
    { kind: 'down', ...canceled },
    { kind: 'recovered', status: 'pending' },
  ]);
  startDispatcher(); // It must not send the recovery during the attempt of the other.
  await delay(500);
  expect(await readAlerts(user)).toMatchObject([
    { kind: 'down', ...canceled },
    { kind: 'recovered', status: 'pending' },
  ]);
  finish(status);
  await expect.poll(() => readAlerts(user), { timeout: 15_000 }).toMatchObject(expected);
});

test.each([
  ['an attempt that failed before the monitor was paused', 'failed'],
  ['an attempt of a process that died', 'pending'],
])('%s told nobody: the recovery is canceled', async (_, status) => {
  const user = await service.createUser();
  const { id: monitorId, path } = await createMonitor(user);
  const { id: providerId } = await createProvider(user);
  await service.database.asEngine(async (em) => {
    await queueAlerts(em, { monitorId, providerId, count: 1 });
    await em.execute(
      `update alerts set lease_token = 1, next_attempt_at = app_now() + ? * interval '1 second' where provider_id = ?`,
      [status === 'failed' ? 60 : -1, providerId],
      'run',
    );
    const [{ id } = { id: 0 }] = await em.execute<{ id: number }[]>('select id from alerts where provider_id = ?', [providerId]);
    if (status === 'failed') await queryInTransaction(em)(markFailed({ id, token: 1, reason: 'rejected' }));
    await queueRecoveries(em, providerId);
  });
  await user.api.put(path, { json: { is_active: false } });
  expect(await readAlerts(user)).toMatchObject([
    { kind: 'down', status: 'failed' },
    { kind: 'recovered', ...canceled },
  ]);
});

test('an attempt that fails after the monitor was paused is not repeated', async () => {
  const user = await service.createUser();
  const { id: monitorId, path } = await createMonitor(user);
  const { id: providerId } = await createProvider(user, 'telegram');
  const attempted = holdDelivery();
  await service.database.asEngine((em) => queueAlerts(em, { monitorId, providerId, count: 1 }));
  const transactions = startDispatcher();
  const finish = await attempted;
  await user.api.put(path, { json: { is_active: false } });
  finish(503);
  await expect.poll(transactions, { timeout: 15_000 }).toBe(4);
  expect(await readAlerts(user)).toEqual([{ kind: 'down', ...canceled }]);
});

test('pausing a monitor cancels a recovery only if nobody was told that the monitor was down; renaming it cancels nothing', async () => {
  const user = await service.createUser();
  const { id: monitorId, path } = await createMonitor(user);
  await service.database.asEngine((em) => em.execute(`update monitors set status = 'up' where id = ?`, [monitorId], 'run'));
  for (const down of ['sent', 'pending', 'failed']) {
    const { id: providerId } = await createProvider(user);
    await service.database.asEngine(async (em) => {
      await queueAlerts(em, { monitorId, providerId, count: 1 });
      await queueRecoveries(em, providerId);
      await em.execute(`update alerts set status = ? where provider_id = ? and kind = 'down'`, [down, providerId], 'run');
    });
  }
  const kept = { kind: 'recovered', status: 'pending', error: null, done: false };
  const before = [{ kind: 'down', status: 'sent', error: null, done: false }, kept];
  await user.api.put(path, { json: { friendly_name: 'Store', interval: 300 } });
  expect(await readAlerts(user)).toEqual([
    ...before,
    { kind: 'down', status: 'pending', error: null, done: false },
    kept,
    { kind: 'down', status: 'failed', error: null, done: false },
    kept,
  ]);
  await user.api.put(path, { json: { is_active: false } });
  expect(await readAlerts(user)).toEqual([
    ...before,
    { kind: 'down', ...canceled },
    { kind: 'recovered', ...canceled },
    { kind: 'down', status: 'failed', error: null, done: false },
    { kind: 'recovered', ...canceled },
  ]);
});

test('who was told of an outage is told of its end, but not others, and not of another one', async () => {
  const user = await service.createUser();
  const { id: monitorId, path } = await createMonitor(user);
  const [{ id: told }, { id: other }] = [await createProvider(user, 'email'), await createProvider(user, 'telegram')];
  await service.database.asEngine(async (em) => {
    await queueAlerts(em, { monitorId, providerId: told, count: 2 });
    const [[first], [second]] = [
      await em.execute<{ id: number }[]>('select min(incident_id) as id from alerts where user_id = ?', [user.id]),
      await em.execute<{ id: number }[]>('select max(incident_id) as id from alerts where user_id = ?', [user.id]),
    ];
    await em.execute(`update alerts set status = 'sent' where incident_id = ?`, [first?.id], 'run');
    for (const [incident, provider] of [
      [first?.id, told],
      [first?.id, other],
      [second?.id, told],
    ]) {
      await em.execute(
        `insert into alerts (user_id, incident_id, provider_id, kind, subject, body) values (?, ?, ?, 'recovered', 'S', 'B')`,
        [user.id, incident, provider],
        'run',
      );
    }
  });
  await user.api.put(path, { json: { is_active: false } });
  expect(await readAlerts(user)).toMatchObject([
    { kind: 'down', status: 'sent' },
    { kind: 'down', ...canceled },
    { kind: 'recovered', status: 'pending' },
    { kind: 'recovered', ...canceled },
    { kind: 'recovered', ...canceled },
  ]);
});

test("pausing a monitor leaves the alerts of the user's other monitors alone", async () => {
  const user = await service.createUser();
  const [paused, other] = [await createMonitor(user), await createMonitor(user)];
  const { id: providerId } = await createProvider(user);
  for (const { id: monitorId } of [paused, other]) {
    await service.database.asEngine((em) => queueAlerts(em, { monitorId, providerId, count: 1 }));
  }
  await user.api.put(paused.path, { json: { is_active: false } });
  expect(await readAlerts(user)).toEqual([
    { kind: 'down', ...canceled },
    { kind: 'down', status: 'pending', error: null, done: false },
  ]);
});
