import type { SqlEntityManager } from '@mikro-orm/sql';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { deleteUser } from '../../../src/accounts/users.ts';
import type { Database } from '../../../src/db/database.ts';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { cancelAlerts } from '../../../src/monitoring/alerts/cancel-alerts.ts';
import { Dispatcher } from '../../../src/monitoring/alerts/dispatcher.ts';
import { createChannels } from '../../../src/monitoring/channels/registry.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { queueAlerts } from '../../faults/support/queue-alerts.ts';
import { testCipher } from '../../support/cipher.ts';
import { startReceivers } from '../../support/receivers.ts';
import { sampleAlert } from '../../support/sample-event.ts';
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
function startDispatcher(beforeTransaction = async (_nth: number) => {}) {
  const { counting, transactions } = countTransactions(service.database);
  let begun = 0;
  const engineTransaction: Database['engineTransaction'] = async (work) => {
    await beforeTransaction(++begun);
    return counting.engineTransaction(work);
  };
  const dispatcher = new Dispatcher({
    database: { engineTransaction } as Database,
    channels: createChannels(receivers.delivery, receivers.net),
    cipher: testCipher,
    log: pino({ level: 'silent' }),
    metrics: createMetrics(),
  });
  dispatcher.start();
  onTestFinished(() => dispatcher.stop());
  return { dispatcher, transactions };
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
    `insert into alerts (user_id, incident_id, provider_id, kind, payload)
     select user_id, incident_id, provider_id, ${sampleAlert('monitor.recovered')} from alerts where provider_id = ?`,
    [providerId],
    'run',
  );

/** Queues down alerts of a new monitor for a new provider, and their recoveries. `afterAttempt`: an attempt has failed before. */
async function queue({
  count,
  withRecoveries = false,
  afterAttempt = false,
}: {
  count: number;
  withRecoveries?: boolean;
  afterAttempt?: boolean;
}) {
  const user = await service.createUser();
  const { id: monitorId, path } = await createMonitor(user);
  const { id: providerId } = await createProvider(user, 'telegram');
  await service.database.asEngine(async (em) => {
    await queueAlerts(em, { monitorId, providerId, count });
    if (afterAttempt) await em.execute('update alerts set counted_at = app_now() where provider_id = ?', [providerId], 'run');
    if (withRecoveries) await queueRecoveries(em, providerId);
  });
  return { user, monitorId, path, providerId };
}

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
  const { transactions } = startDispatcher();
  const finish = await attempted;
  expect(transactions()).toBe(2); // One leased both alerts, and one counted the first.
  await drop({ providerId, monitorId });
  finish();
  // The attempt is recorded, the second alert is not found, and the dispatcher looks for others. If it sent the second alert, it would
  // have done so before its fifth transaction, which would record that.
  await expect.poll(transactions, { timeout: 15_000 }).toBe(5);
  expect(receivers.telegram.requests.length).toBe(before + 1);
}

const readAlerts = (user: TestUser) =>
  service.database.asEngine((em) =>
    em.execute<{ kind: string; status: string }[]>(
      'select kind, status, last_error as error, done_at is not null as done from alerts where user_id = ? order by id',
      [user.id],
    ),
  );
/** Lets the time pass that an attempt may take. */
const endAttempts = (user: TestUser) =>
  service.database.asEngine((em) =>
    em.execute(`update alerts set next_attempt_at = next_attempt_at - interval '10 seconds' where user_id = ?`, [user.id], 'run'),
  );
const canceled = { status: 'suppressed', error: 'not sent: the monitor was paused or in maintenance, or its target changed', done: true };

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
    { kind: 'monitor.down', status: 'sent', error: null, done: true },
    { kind: 'monitor.down', ...canceled },
  ]);
});

test.each([
  ['fails', 503, { kind: 'monitor.down', ...canceled }, { kind: 'monitor.recovered', ...canceled }],
  ['is rejected', 403, { kind: 'monitor.down', ...canceled }, { kind: 'monitor.recovered', ...canceled }],
  ['succeeds', 200, { kind: 'monitor.down', status: 'sent' }, { kind: 'monitor.recovered', status: 'sent' }],
])('if the attempt that was running when the monitor was paused %s, the recovery follows it', async (_, status, ...expected) => {
  const { user, path } = await queue({ count: 1, withRecoveries: true });
  const attempted = holdDelivery();
  startDispatcher();
  const finish = await attempted;
  await user.api.put(path, { json: { is_active: false } });
  await user.api.put(path, { json: { friendly_name: 'Paused' } });
  expect(await readAlerts(user)).toMatchObject([
    { kind: 'monitor.down', ...canceled },
    { kind: 'monitor.recovered', status: 'queued' },
  ]);
  const other = startDispatcher(); // It must not send the recovery during the attempt of the first.
  await expect.poll(other.transactions, { timeout: 15_000 }).toBe(1);
  expect(await readAlerts(user)).toMatchObject([
    { kind: 'monitor.down', ...canceled },
    { kind: 'monitor.recovered', status: 'queued' },
  ]);
  finish(status);
  await expect.poll(() => readAlerts(user), { timeout: 15_000 }).toMatchObject(expected);
});

test.each([
  ['failed before the pause told nobody: the recovery is canceled', { lease: null, counted: true, status: 'failed' }, canceled],
  [
    'was leased by a process that died before the attempt told nobody: the recovery is canceled',
    { lease: 1, counted: false, status: 'queued' },
    canceled,
  ],
  [
    'was leased by a process that died may have been sent: the recovery is sent',
    { lease: 1, counted: true, status: 'queued' },
    { status: 'sent' },
  ],
])('a down alert that %s', async (_, { lease, counted, status }, recovery) => {
  const user = await service.createUser();
  const { id: monitorId, path } = await createMonitor(user);
  const { id: providerId } = await createProvider(user, 'telegram');
  await service.database.asEngine(async (em) => {
    await queueAlerts(em, { monitorId, providerId, count: 1 });
    await em.execute(
      `update alerts set lease_token = ?, counted_at = case when ? then app_now() end, status = ?, next_attempt_at = app_now() - interval '1 second'
       where provider_id = ?`,
      [lease, counted, status, providerId],
      'run',
    );
    await queueRecoveries(em, providerId);
  });
  for (const json of [{ is_active: false }, { friendly_name: 'Paused' }]) await user.api.put(path, { json });
  startDispatcher();
  await expect
    .poll(() => readAlerts(user), { timeout: 15_000 })
    .toMatchObject([
      { kind: 'monitor.down', status: status === 'queued' ? 'suppressed' : status },
      { kind: 'monitor.recovered', ...recovery },
    ]);
});

test('recoveries of other providers and incidents, and those of alerts that failed without a pause, are sent', async () => {
  const user = await service.createUser();
  const { id: monitorId } = await createMonitor(user);
  const [{ id: first }, { id: second }] = [await createProvider(user, 'telegram'), await createProvider(user, 'telegram')];
  await service.database.asEngine(async (em) => {
    await queueAlerts(em, { monitorId, providerId: first, count: 2 });
    await queueAlerts(em, { monitorId, providerId: second, count: 1 });
    await queueRecoveries(em, first);
    await queueRecoveries(em, second);
    await em.execute(
      `update alerts set status = 'failed', last_error = 'rejected' where kind = 'monitor.down' and user_id = ?`,
      [user.id],
      'run',
    );
    await em.execute(
      `update alerts set last_error = ? where id = (select min(id) from alerts where user_id = ?)`,
      [canceled.error, user.id],
      'run',
    );
    await em.execute(
      `update alerts set status = 'suppressed', last_error = 'the limit is reached'
        where id = (select max(id) from alerts where kind = 'monitor.down' and user_id = ?)`,
      [user.id],
      'run',
    );
  });
  startDispatcher();
  const readRecoveries = async () =>
    (await readAlerts(user)).filter(({ kind }) => kind === 'monitor.recovered').map(({ status }) => status);
  await expect.poll(readRecoveries, { timeout: 15_000 }).toEqual(['sent', 'sent', 'sent']);
});

test('the recovery of an alert that is canceled after a failed attempt, before the next one, is canceled as well', async () => {
  const { user, path } = await queue({ count: 2, withRecoveries: true, afterAttempt: true });
  const attempted = holdDelivery();
  startDispatcher();
  const finish = await attempted; // The second one is leased with it.
  await user.api.put(path, { json: { is_active: false } });
  finish();
  await expect
    .poll(() => readAlerts(user), { timeout: 15_000 })
    .toMatchObject([
      { kind: 'monitor.down', status: 'sent' },
      { kind: 'monitor.down', ...canceled },
      { kind: 'monitor.recovered', status: 'sent' },
      { kind: 'monitor.recovered', ...canceled },
    ]);
});

test('after a shutdown during a pause, other processes drop the recoveries of alerts that were not attempted', async () => {
  const { user, path } = await queue({ count: 2, withRecoveries: true, afterAttempt: true });
  const attempted = holdDelivery();
  const { dispatcher } = startDispatcher();
  const finish = await attempted;
  await user.api.put(path, { json: { is_active: false } });
  await dispatcher.stop();
  await endAttempts(user);
  startDispatcher();
  await expect
    .poll(() => readAlerts(user), { timeout: 15_000 })
    .toMatchObject([
      { kind: 'monitor.down', ...canceled },
      { kind: 'monitor.down', ...canceled },
      { kind: 'monitor.recovered', status: 'sent' },
      { kind: 'monitor.recovered', ...canceled },
    ]);
  finish();
});

test('an alert whose attempt would begin during a shutdown is released instead', async () => {
  const { user } = await queue({ count: 1 });
  const before = receivers.telegram.requests.length;
  const stopped = Promise.withResolvers<void>();
  const { dispatcher } = startDispatcher(async (nth) => {
    if (nth === 2) stopped.resolve(dispatcher.stop());
  });
  await stopped.promise;
  expect(
    await service.database.asEngine((em) => em.execute('select attempts, lease_token from alerts where user_id = ?', [user.id])),
  ).toEqual([{ attempts: 0, lease_token: null }]);
  expect(receivers.telegram.requests.length).toBe(before);
  await deleteUser(service.database, user.id); // The dispatchers of other tests would send it.
});

test('after a shutdown, other processes attempt all alerts at once, but one that is being sent, which may have been sent, in 10 seconds', async () => {
  const { user, path } = await queue({ count: 2, withRecoveries: true });
  const attempted = holdDelivery();
  const { dispatcher } = startDispatcher();
  const finish = await attempted;
  await dispatcher.stop();
  const rows = await service.database.asEngine((em) =>
    em.execute(
      `select attempts, next_attempt_at <= app_now() as due, lease_token is not null as leased from alerts
       where user_id = ? and kind = 'monitor.down' order by id`,
      [user.id],
    ),
  );
  expect(rows).toEqual([
    { attempts: 1, due: false, leased: true },
    { attempts: 0, due: true, leased: false },
  ]);
  await user.api.put(path, { json: { is_active: false } });
  await endAttempts(user);
  startDispatcher();
  await expect
    .poll(() => readAlerts(user), { timeout: 15_000 })
    .toMatchObject([
      { kind: 'monitor.down', ...canceled },
      { kind: 'monitor.down', ...canceled },
      { kind: 'monitor.recovered', status: 'sent' },
      { kind: 'monitor.recovered', ...canceled },
    ]);
  finish();
});

test('a lease is renewed before each attempt, however long those before it took', async () => {
  const { user } = await queue({ count: 2 });
  const first = holdDelivery();
  startDispatcher();
  const finishFirst = await first;
  const seconds = async () => {
    const rows = await service.database.asEngine((em) =>
      em.execute<{ seconds: number }[]>(
        'select extract(epoch from next_attempt_at - app_now())::float8 as seconds from alerts where user_id = ? order by id',
        [user.id],
      ),
    );
    return rows.map((row) => row.seconds);
  };
  await service.database.asEngine((em) =>
    em.execute(`update alerts set next_attempt_at = app_now() + interval '20 seconds' where user_id = ?`, [user.id], 'run'),
  );
  const second = holdDelivery();
  finishFirst();
  const finishSecond = await second;
  expect((await seconds())[1]).toBeGreaterThan(40);
  finishSecond();
});

test.runIf(process.env.TEST_DATABASE_URL)('an alert whose cancellation is committed while its attempt begins is not sent', async () => {
  const { user, monitorId } = await queue({ count: 1 });
  const before = receivers.telegram.requests.length;
  const [canceledIt, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let pause = Promise.resolve();
  const { transactions } = startDispatcher(async (nth) => {
    if (nth !== 2) return;
    pause = service.database.asUser(user.id, async (em) => {
      await em.execute(`update monitors set status = 'paused', is_active = false, next_check_at = null where id = ?`, [monitorId], 'run');
      await queryInTransaction(em)(cancelAlerts({ ids: [monitorId] }));
      canceledIt.resolve();
      await commit.promise;
    });
    await canceledIt.promise;
    setTimeout(commit.resolve, 300);
  });
  await expect.poll(transactions, { timeout: 15_000 }).toBe(3);
  await pause;
  expect(await readAlerts(user)).toEqual([{ kind: 'monitor.down', ...canceled }]);
  expect(receivers.telegram.requests.length).toBe(before);
});

test('a provider that another process was told to leave alone gets no message, and its alerts wait', async () => {
  const { user, providerId } = await queue({ count: 2 });
  const before = receivers.telegram.requests.length;
  const { transactions } = startDispatcher(async (nth) => {
    if (nth !== 2) return;
    await service.database.asEngine((em) =>
      em.execute(`update providers set next_message_at = app_now() + interval '1 hour' where id = ?`, [providerId], 'run'),
    );
  });
  await expect.poll(transactions, { timeout: 15_000 }).toBe(3);
  const alerts = await service.database.asUser(user.id, (em) => em.execute('select status, attempts, lease_token as token from alerts'));
  expect(alerts).toEqual(Array(2).fill({ status: 'queued', attempts: 0, token: null }));
  expect(receivers.telegram.requests.length).toBe(before);
});

test('an attempt that fails after the monitor was paused is not repeated', async () => {
  const { user, path } = await queue({ count: 1 });
  const attempted = holdDelivery();
  const { transactions } = startDispatcher();
  const finish = await attempted;
  await user.api.put(path, { json: { is_active: false } });
  finish(503);
  await expect.poll(transactions, { timeout: 15_000 }).toBe(4);
  expect(await readAlerts(user)).toEqual([{ kind: 'monitor.down', ...canceled }]);
});

test('pausing a monitor cancels a recovery only if nobody was told that the monitor was down; renaming it cancels nothing', async () => {
  const user = await service.createUser();
  const { id: monitorId, path } = await createMonitor(user);
  await service.database.asEngine((em) => em.execute(`update monitors set status = 'up' where id = ?`, [monitorId], 'run'));
  for (const down of ['sent', 'queued', 'failed']) {
    const { id: providerId } = await createProvider(user);
    await service.database.asEngine(async (em) => {
      await queueAlerts(em, { monitorId, providerId, count: 1 });
      await queueRecoveries(em, providerId);
      await em.execute(`update alerts set status = ? where provider_id = ? and kind = 'monitor.down'`, [down, providerId], 'run');
    });
  }
  const kept = { kind: 'monitor.recovered', status: 'queued', error: null, done: false };
  const before = [{ kind: 'monitor.down', status: 'sent', error: null, done: false }, kept];
  await user.api.put(path, { json: { friendly_name: 'Store', interval: 300 } });
  expect(await readAlerts(user)).toEqual([
    ...before,
    { kind: 'monitor.down', status: 'queued', error: null, done: false },
    kept,
    { kind: 'monitor.down', status: 'failed', error: null, done: false },
    kept,
  ]);
  await user.api.put(path, { json: { is_active: false } });
  expect(await readAlerts(user)).toEqual([
    ...before,
    { kind: 'monitor.down', ...canceled },
    { kind: 'monitor.recovered', ...canceled },
    { kind: 'monitor.down', status: 'failed', error: null, done: false },
    { kind: 'monitor.recovered', ...canceled },
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
        `insert into alerts (user_id, incident_id, provider_id, kind, payload) values (?, ?, ?, ${sampleAlert('monitor.recovered')})`,
        [user.id, incident, provider],
        'run',
      );
    }
  });
  await user.api.put(path, { json: { is_active: false } });
  expect(await readAlerts(user)).toMatchObject([
    { kind: 'monitor.down', status: 'sent' },
    { kind: 'monitor.down', ...canceled },
    { kind: 'monitor.recovered', status: 'queued' },
    { kind: 'monitor.recovered', ...canceled },
    { kind: 'monitor.recovered', ...canceled },
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
    { kind: 'monitor.down', ...canceled },
    { kind: 'monitor.down', status: 'queued', error: null, done: false },
  ]);
});
