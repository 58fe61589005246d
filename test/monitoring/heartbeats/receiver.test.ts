// Heartbeats that arrive together, and those that arrive while the engine checks.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { repeatAfterDeadlock } from '../../../src/db/repeat-after-deadlock.ts';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { hashToken } from '../../../src/monitoring/checks/heartbeat/heartbeat.options.ts';
import { recordResults } from '../../../src/monitoring/engine/record.ts';
import { HeartbeatReceiver } from '../../../src/monitoring/heartbeats/receiver.ts';
import { sendDuringTransaction } from '../../support/database.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { claimOf, makeOverdue } from '../engine/due-monitors.ts';
import {
  assignProvider,
  createHeartbeat,
  type HeartbeatMonitor,
  readAlertKinds,
  readCounts,
  readIncidents,
  readMonitor,
} from './heartbeat-monitors.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
});
afterAll(() => service.stop());

const heartbeatOf = ({ token }: Pick<HeartbeatMonitor, 'token'>, succeeded = true) => ({ hash: hashToken(token), succeeded });

/** A database whose first transaction waits until it is released, and that counts its transactions. */
function holdFirstTransaction() {
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let transactions = 0;
  const engineTransaction: Database['engineTransaction'] = async (work) => {
    begun.resolve();
    if (++transactions === 1) await released.promise;
    return service.database.engineTransaction(work);
  };
  return { database: { engineTransaction } as Database, begun: begun.promise, release: released.resolve, transactions: () => transactions };
}

/** A database whose first transactions fail after they have written everything, and are rolled back. */
function failingDatabase(failures: number, error: Error): Database {
  let left = failures;
  const engineTransaction: Database['engineTransaction'] = (work) =>
    service.database.engineTransaction(async (query) => {
      const result = await work(query);
      if (left-- > 0) throw error;
      return result;
    });
  return { engineTransaction } as Database;
}

test('tells known tokens from unknown ones that arrive together', async () => {
  const monitor = await createHeartbeat(user);
  const receiver = new HeartbeatReceiver(service.database);
  const tokens = ['unknown', monitor.token, 'another'];
  expect(await Promise.all(tokens.map((token) => receiver.receive(heartbeatOf({ token }))))).toEqual([undefined, 'counted', undefined]);
});

test('heartbeats that arrive in one turn are written together', async () => {
  const monitors = [await createHeartbeat(user), await createHeartbeat(user), await createHeartbeat(user)];
  const { database, release, transactions } = holdFirstTransaction();
  release();
  const receiver = new HeartbeatReceiver(database);
  const received = await Promise.all(monitors.map((monitor) => receiver.receive(heartbeatOf(monitor))));
  expect([received, transactions()]).toEqual([Array(3).fill('counted'), 1]);
});

test('heartbeats that arrive during a transaction are written together in the next one', async () => {
  const monitors: HeartbeatMonitor[] = [];
  for (let count = 0; count < 6; count++) monitors.push(await createHeartbeat(user));
  const { database, begun, release, transactions } = holdFirstTransaction();
  const receiver = new HeartbeatReceiver(database);
  const early = monitors.slice(0, 3).map((monitor) => receiver.receive(heartbeatOf(monitor)));
  await begun;
  const late = monitors.slice(3).map((monitor) => receiver.receive(heartbeatOf(monitor)));
  release();
  expect(await Promise.all([...early, ...late])).toEqual(Array(6).fill('counted'));
  expect(transactions()).toBe(2);
  for (const monitor of monitors) expect(await readMonitor(user, monitor)).toMatchObject({ status: 'up' });
});

test('at most 500 heartbeats are written together', async () => {
  const { database, release, transactions } = holdFirstTransaction();
  release();
  const receiver = new HeartbeatReceiver(database);
  await Promise.all(Array.from({ length: 501 }, (_, index) => receiver.receive(heartbeatOf({ token: `t${index}` }))));
  expect(transactions()).toBe(2);
});

test('several heartbeats of one monitor are counted one by one, in the order in which they arrive', async () => {
  const monitor = await createHeartbeat(user);
  await assignProvider(user, monitor);
  const receiver = new HeartbeatReceiver(service.database);
  // "+" is a success, "-" a failure.
  await Promise.all([...'+-+--+-'].map((sent) => receiver.receive(heartbeatOf(monitor, sent === '+'))));
  expect(await readMonitor(user, monitor)).toMatchObject({ status: 'down' });
  expect(await readCounts(service, monitor)).toEqual({ checks: 7, failures: 4 });
  expect(await readAlertKinds(service, user)).toEqual([
    'monitor.down',
    'monitor.recovered',
    'monitor.down',
    'monitor.recovered',
    'monitor.down',
  ]);
  expect((await readIncidents(user, monitor)).map(({ status }: { status: string }) => status)).toEqual(['open', 'resolved', 'resolved']);
});

test('heartbeats and failures of many monitors that arrive at once through HTTP all count', async () => {
  const monitors: HeartbeatMonitor[] = [];
  for (let count = 0; count < 5; count++) monitors.push(await createHeartbeat(user));
  const sent = monitors.flatMap(({ receiver }) => [receiver, `${receiver}/fail`, receiver, `${receiver}/fail`]);
  const responses = await Promise.all(sent.map((path) => service.anonymous.post(path)));
  expect(responses.map(({ status }) => status)).toEqual(sent.map(() => 200));
  for (const monitor of monitors) {
    expect(await readCounts(service, monitor)).toEqual({ checks: 4, failures: 2 });
    const { status } = await readMonitor(user, monitor);
    const open = (await readIncidents(user, monitor)).filter((incident: { status: string }) => incident.status === 'open');
    expect(open).toHaveLength(status === 'down' ? 1 : 0);
  }
});

test('repeats the transaction after a deadlock, and counts each heartbeat once', async () => {
  const monitor = await createHeartbeat(user);
  const receiver = new HeartbeatReceiver(failingDatabase(2, Object.assign(new Error('injected'), { code: '40P01' })));
  expect(await receiver.receive(heartbeatOf(monitor))).toBe('counted');
  expect(await readCounts(service, monitor)).toEqual({ checks: 1, failures: 0 });
});

test('a transaction that fails is reported to its senders, and later heartbeats are received', async () => {
  const monitor = await createHeartbeat(user);
  const receiver = new HeartbeatReceiver(failingDatabase(1, new Error('injected')));
  await expect(receiver.receive(heartbeatOf(monitor))).rejects.toThrow('injected');
  expect(await receiver.receive(heartbeatOf(monitor))).toBe('counted');
  expect(await readCounts(service, monitor)).toEqual({ checks: 1, failures: 0 });
});

test('at most 10,000 heartbeats wait; further ones are rejected until some are written', async () => {
  const { database, begun, release } = holdFirstTransaction();
  const receiver = new HeartbeatReceiver(database);
  const first = receiver.receive(heartbeatOf({ token: 'first' }));
  await begun;
  const waiting = Array.from({ length: 10_000 }, (_, index) => receiver.receive(heartbeatOf({ token: `t${index % 500}` })));
  expect(() => receiver.receive(heartbeatOf({ token: 'one more' }))).toThrow('Too many heartbeats at once. Retry in 2 seconds.');
  release();
  expect(await first).toBe(undefined);
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([undefined]));
  expect(await receiver.receive(heartbeatOf({ token: 'one more' }))).toBe(undefined);
}, 60_000);

test('a heartbeat that comes after the engine has claimed the monitor wins: the result of the engine is dropped', async () => {
  const monitor = await createHeartbeat(user);
  await assignProvider(user, monitor);
  await service.database.asEngine((em) => makeOverdue(em, user.id));
  const [claim] = await service.database.asEngine((em) => claimOf(em, user.id, 1));
  if (!claim) throw new Error('The monitor was not claimed.');
  await service.anonymous.post(monitor.receiver);
  const result = { up: false, cause: 'no heartbeat for 2 min', statusCode: null } as const;
  const completed = [{ claim, result, startedMs: performance.now() }];
  expect(await service.database.asEngine((em) => recordResults(queryInTransaction(em), completed))).toMatchObject({ accepted: 0 });
  expect(await readMonitor(user, monitor)).toMatchObject({ status: 'up', last_error: null });
  expect(await readAlertKinds(service, user)).toEqual([]);
});

// On the embedded database a heartbeat cannot wait for a transaction.
test.runIf(process.env.TEST_DATABASE_URL)('a heartbeat resolves an incident that the engine opens while it waits', async () => {
  const monitor = await createHeartbeat(user);
  const { status } = await sendDuringTransaction(
    service.database,
    user.id,
    async (em) => {
      await em.execute(`update monitors set status = 'down' where id = ?`, [monitor.id], 'run');
      const incident = `insert into incidents (user_id, monitor_id, started_at, cause) values (?, ?, now(), 'no heartbeat for 2 min')`;
      await em.execute(incident, [user.id, monitor.id], 'run');
    },
    () => service.anonymous.post(monitor.receiver),
  );
  expect(status).toBe(200);
  expect(await readMonitor(user, monitor)).toMatchObject({ status: 'up' });
  expect(await readIncidents(user, monitor)).toMatchObject([{ status: 'resolved' }]);
});

test('a heartbeat moves the end of the wait to the interval and the grace period from now, also after a claim', async () => {
  const monitor = await createHeartbeat(user, { interval: 600, heartbeat: { grace_seconds: 300 } });
  await service.database.asEngine((em) => makeOverdue(em, user.id));
  await service.database.asEngine((em) => claimOf(em, user.id, 1));
  await service.anonymous.post(monitor.receiver);
  const [row] = await service.database.asEngine((em) =>
    em.execute<{ wait: number; token: number | null }[]>(
      'select extract(epoch from next_check_at - last_checked_at)::float8 as wait, claim_token as token from monitors where id = ?',
      [monitor.id],
    ),
  );
  expect(row).toEqual({ wait: 900, token: null });
});

test('a heartbeat and results of the engine for many monitors at once leave each monitor with one consistent state', async () => {
  const monitors: HeartbeatMonitor[] = [];
  for (let count = 0; count < 8; count++) monitors.push(await createHeartbeat(user));
  await service.database.asEngine((em) => makeOverdue(em, user.id));
  const claims = await service.database.asEngine((em) => claimOf(em, user.id, 8));
  expect(claims).toHaveLength(8);
  const result = { up: false, cause: 'no heartbeat for 2 min', statusCode: null } as const;
  // The engine updates in another order than the receiver.
  const completed = claims.reverse().map((claim) => ({ claim, result, startedMs: performance.now() }));
  const receiver = new HeartbeatReceiver(service.database);
  await Promise.all([
    // The engine keeps results after a deadlock, and writes them again.
    repeatAfterDeadlock(() => service.database.asEngine((em) => recordResults(queryInTransaction(em), completed))),
    ...monitors.map((monitor) => receiver.receive(heartbeatOf(monitor))),
  ]);
  for (const monitor of monitors) {
    expect(await readMonitor(user, monitor)).toMatchObject({ status: 'up', last_error: null });
    const incidents: { status: string }[] = await readIncidents(user, monitor);
    expect(incidents.filter(({ status }) => status === 'open')).toEqual([]);
  }
});
