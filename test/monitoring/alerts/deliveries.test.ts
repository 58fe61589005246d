// One dispatcher with a channel that the test controls.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { RetryLaterError } from '../../../src/errors.ts';
import type { Dispatcher } from '../../../src/monitoring/alerts/dispatcher.ts';
import { DeliveryFailed, type Message } from '../../../src/monitoring/channels/channel.ts';
import { sampleAlert } from '../../support/sample-event.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor, createProvider } from '../factories.ts';
import { startDispatcher } from './controlled-dispatcher.ts';

let service: TestService;
let user: TestUser;
let dispatcher: Dispatcher | undefined;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
});
afterEach(async () => {
  await dispatcher?.stop();
  await service.database.asEngine((em) => em.execute(`update alerts set status = 'failed' where status = 'queued'`, [], 'run'));
});
afterAll(() => service.stop());

function start(send: (message: Message) => Promise<void>, options: Partial<Parameters<typeof startDispatcher>[0]> = {}) {
  const started = startDispatcher({ database: service.database, send, ...options });
  dispatcher = started.dispatcher;
  return started.metrics;
}

async function queue({ count = 1, ageHours = 0 } = {}): Promise<void> {
  const [monitor, provider] = [await createMonitor(user, { is_active: false }), await createProvider(user)];
  await service.database.asEngine((em) =>
    em.execute(
      `with resolved as (
         insert into incidents (user_id, monitor_id, started_at, resolved_at, cause)
         select ?, ?, app_now(), app_now(), 'HTTP 503' from generate_series(1, ?) returning id, user_id
       )
       insert into alerts (user_id, incident_id, provider_id, kind, payload, created_at, queued_at)
       select r.user_id, r.id, ?, ${sampleAlert()}, at, at from resolved as r, (select app_now() - ?::int * interval '1 hour' as at) as t`,
      [user.id, monitor.id, count, provider.id, ageHours],
      'run',
    ),
  );
}

const readAlerts = () =>
  service.database.asUser(user.id, (em) =>
    em.execute<{ status: string; attempts: number; error: string | null; token: number | null }[]>(
      'select status, attempts, last_error as error, lease_token as token from alerts order by id',
    ),
  );
const firstAlert = async () => (await readAlerts())[0];

test.each([
  ['is retried within 24 hours', 23, { status: 'queued', attempts: 1, error: 'Try later.' }],
  ['is not tried again after 24 hours', 25, { status: 'failed', error: 'not sent within 24 hours' }],
])('a temporary failure %s', async (_, hours, outcome) => {
  await queue({ ageHours: hours });
  const metrics = start(() => Promise.reject(new DeliveryFailed('Try later.', { permanent: false, retryAfterSeconds: 600 })));
  await expect.poll(firstAlert, { timeout: 15_000 }).toMatchObject(outcome);
  const counted = outcome.status === 'failed' ? 'failed' : 'retried';
  expect(await metrics.registry.metrics()).toContain(`sitekeeper_alerts_total{channel="email",outcome="${counted}"} 1`);
});

test('a failure that the operator has to correct is counted and logged as such, and retried', async () => {
  await queue();
  const lines: string[] = [];
  const settings = ['TWILIO_AUTH_TOKEN'];
  const metrics = start(() => Promise.reject(new DeliveryFailed('The login was rejected.', { permanent: false, settings })), {
    write: (line) => lines.push(line),
  });
  await expect.poll(firstAlert, { timeout: 15_000 }).toMatchObject({ status: 'queued', error: 'The login was rejected.' });
  expect(await metrics.registry.metrics()).toContain('sitekeeper_alerts_total{channel="email",outcome="misconfigured"} 1');
  const logged = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 50);
  expect(logged).toMatchObject([{ settings, reason: 'The login was rejected.' }]);
});

test('after nine failed attempts, the tenth is followed by a pause of several minutes', async () => {
  await queue();
  await service.database.asEngine((em) => em.execute('update alerts set attempts = 9 where user_id = ?', [user.id], 'run'));
  start(() => Promise.reject(new DeliveryFailed('Try later.', { permanent: false })));
  await expect.poll(firstAlert, { timeout: 15_000 }).toMatchObject({ status: 'queued', attempts: 10, error: 'Try later.' });
  const [row] = await service.database.asUser(user.id, (em) =>
    em.execute<{ seconds: number }[]>('select extract(epoch from next_attempt_at - app_now())::float8 as seconds from alerts'),
  );
  // 512 seconds with a jitter of 25 %, of which some have passed on a slow machine.
  expect(row?.seconds).toBeGreaterThan(300);
  expect(row?.seconds).toBeLessThanOrEqual(640);
});

test('a permanent failure is not retried, and an internal error is not described to the user', async () => {
  await queue();
  start(() => Promise.reject(new DeliveryFailed('No such address.', { permanent: true })));
  await expect.poll(firstAlert, { timeout: 15_000 }).toMatchObject({ status: 'failed', attempts: 1, error: 'No such address.' });
  await dispatcher?.stop();
  user = await service.createUser();
  await queue();
  start(() => Promise.reject(new TypeError('internal detail')));
  await expect.poll(firstAlert, { timeout: 15_000 }).toMatchObject({ status: 'queued', error: 'an internal error' });
});

test('an alert that was sent while the database was lost is recorded later, and not sent again', async () => {
  await queue();
  let [sent, failures] = [0, 0];
  const engineTransaction: Database['engineTransaction'] = (work) => {
    if (sent === 0 || failures === 2) return service.database.engineTransaction(work);
    failures++;
    return Promise.reject(new RetryLaterError('unavailable', 'injected', 1));
  };
  start(
    async () => {
      sent++;
    },
    { database: { engineTransaction } },
  );
  await expect.poll(firstAlert, { timeout: 15_000 }).toMatchObject({ status: 'sent' });
  expect([sent, failures]).toEqual([1, 2]);
});

test('a shutdown releases the alerts that wait behind a running attempt', async () => {
  await queue({ count: 2 });
  const [started, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  start(() => {
    started.resolve();
    return finish.promise;
  });
  await started.promise;
  const stopped = dispatcher?.stop();
  finish.resolve();
  await stopped;
  expect((await readAlerts()).map(({ status, attempts, token }) => [status, attempts, token === null]).toSorted()).toEqual([
    ['queued', 0, true],
    ['sent', 1, false],
  ]);
});

test('the next alert of a program is sent as soon as the ones before have been', async () => {
  let sent = 0;
  // More than are leased together, so the rest needs another lease. No alert is due later, so nothing else wakes the dispatcher.
  await queue({ count: 12 });
  start(
    async () => {
      sent++;
    },
    { audience: 'programs' },
  );
  await expect.poll(() => sent, { timeout: 15_000 }).toBe(12);
});
