// The log of deliveries, and sending a message again.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { expectConditionalList } from '../../support/etags.ts';
import { startReceivers } from '../../support/receivers.ts';
import { expectSameProblem } from '../../support/same-problem.ts';
import { namedAlert, sampleAlert } from '../../support/sample-event.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { setScript } from '../../support/set-script.ts';
import { scripts } from '../../support/web-server.ts';
import { createMonitor } from '../factories.ts';

let receivers: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;
let user: TestUser;
let monitorId: number;
let providerId: number;
let path: string;

beforeAll(async () => {
  receivers = await startReceivers();
  service = await startService({ delivery: receivers.delivery }, { net: receivers.net, engine: true });
});
beforeEach(async () => {
  user = await service.createUser();
  monitorId = (await createMonitor(user, { is_active: false })).id;
  providerId = await createProvider();
  path = `/api/providers/${providerId}/deliveries`;
});
afterAll(async () => {
  await service.stop();
  await receivers.close();
});

const createProvider = async (type: keyof typeof receivers.providers = 'telegram'): Promise<number> =>
  (await user.api.post('/api/providers', { json: receivers.providers[type] })).body.data.id;

/** Stores an alert as it is after `columns` were set. The dispatcher does not see those that are not due. */
async function store(columns: Record<string, string> = {}, provider = providerId): Promise<number> {
  const [names, values] = [Object.keys(columns), Object.values(columns)];
  const [row] = await service.database.asEngine(async (em) => {
    const [incident] = await em.execute<{ id: number }[]>(
      `insert into incidents (user_id, monitor_id, started_at, resolved_at, cause) values (?, ?, now(), now(), 'HTTP 503') returning id`,
      [user.id, monitorId],
    );
    return em.execute<{ id: number }[]>(
      `insert into alerts (user_id, provider_id, incident_id, kind, payload${names.map((name) => `, ${name}`).join('')})
       values (?, ?, ?, ${sampleAlert()}${values.map((value) => `, ${value}`).join('')}) returning id`,
      [user.id, provider, incident?.id],
    );
  });
  return Number(row?.id);
}

const list = async (query = '') => (await user.api.get(`${path}${query}`)).body;
const readAlert = async (id: number) =>
  (await service.database.asUser(user.id, (em) => em.execute('select * from alerts where id = ?', [id])))[0] as Record<string, unknown>;
const later = `app_now() + interval '1 hour'`;

test('lists the deliveries of the provider, newest first, with their states', async () => {
  const sent = await store({ status: `'sent'`, attempts: '1', done_at: `'2026-11-15T01:41:18Z'`, lease_token: '1' });
  const failed = await store({ status: `'failed'`, attempts: '3', last_error: `'Rejected.'`, done_at: 'app_now()' });
  const suppressed = await store({ status: `'suppressed'`, last_error: `'the limit is reached'`, done_at: 'app_now()' });
  const queued = await store({ attempts: '2', last_error: `'Try later.'`, next_attempt_at: `'2100-01-01T00:00:00Z'` });
  const leased = await store({ attempts: '1', lease_token: '2', next_attempt_at: later });
  await store({ next_attempt_at: later }, await createProvider());
  const { data } = await list();
  const common = { event: 'monitor.down', monitor_id: 5, created_at: expect.any(String), incident_id: expect.any(Number) };
  expect(data).toEqual([
    { ...common, id: leased, status: 'queued', attempts: 1, last_error: null, next_attempt_at: null, sent_at: null },
    {
      ...common,
      id: queued,
      status: 'queued',
      attempts: 2,
      last_error: 'Try later.',
      next_attempt_at: '2100-01-01T00:00:00.000Z',
      sent_at: null,
    },
    {
      ...common,
      id: suppressed,
      status: 'suppressed',
      attempts: 0,
      last_error: 'the limit is reached',
      next_attempt_at: null,
      sent_at: null,
    },
    { ...common, id: failed, status: 'failed', attempts: 3, last_error: 'Rejected.', next_attempt_at: null, sent_at: null },
    { ...common, id: sent, status: 'sent', attempts: 1, last_error: null, next_attempt_at: null, sent_at: '2026-11-15T01:41:18.000Z' },
  ]);
});

test('returns pages, and only deliveries with a status', async () => {
  for (const status of ['sent', 'failed', 'sent']) await store({ status: `'${status}'`, done_at: 'app_now()' });
  const { data, meta } = await list('?status=sent&pageSize=1&page=2');
  expect(data).toHaveLength(1);
  expect(meta).toEqual({ page: 2, pageSize: 1, pageCount: 2, total: 2 });
  expect((await list('?status=suppressed')).data).toEqual([]);
  expect((await user.api.get(`${path}?status=lost`)).status).toBe(422);
});

test('deliveries of another user cannot be read or sent again', async () => {
  const id = await store({ status: `'sent'`, done_at: 'app_now()' });
  const other = await service.createUser();
  expectSameProblem(await other.api.get(path), await other.api.get('/api/providers/999999/deliveries'));
  expectSameProblem(await other.api.post(`/api/deliveries/${id}/redeliver`), await other.api.post('/api/deliveries/999999999/redeliver'));
  expect(await readAlert(id)).toMatchObject({ status: 'sent' });
});

test('a list that has not changed is not sent again', async () => {
  await store({ status: `'sent'`, done_at: 'app_now()' });
  await expectConditionalList(user.api, path, () => store({ status: `'sent'`, done_at: 'app_now()' }));
});

test.each(['sent', 'failed', 'suppressed'])('a message that was %s is sent again, with the same id', async (status) => {
  const id = await store({
    status: `'${status}'`,
    attempts: '9',
    done_at: 'app_now()',
    counted_at: 'app_now()',
    lease_token: '1',
    last_error: `'x'`,
  });
  const before = receivers.telegram.requests.length;
  const { status: code, body } = await user.api.post(`/api/deliveries/${id}/redeliver`);
  expect([code, body.data]).toMatchObject([202, { id, status: 'queued', attempts: 0, sent_at: null, next_attempt_at: expect.any(String) }]);
  await expect
    .poll(async () => (await list()).data, { timeout: 15_000 })
    .toMatchObject([{ id, status: 'sent', attempts: 1, last_error: null }]);
  expect(receivers.telegram.requests.length).toBe(before + 1);
});

test('a message that is being sent is left alone, and one that waits is sent at once', async () => {
  const leased = await store({ attempts: '1', lease_token: '7', next_attempt_at: later });
  const { status, body } = await user.api.post(`/api/deliveries/${leased}/redeliver`);
  expect([status, body.data]).toMatchObject([202, { id: leased, attempts: 1, next_attempt_at: null }]);
  expect(await readAlert(leased)).toMatchObject({ status: 'queued', attempts: 1 });
  const waiting = await store({ attempts: '4', next_attempt_at: later });
  await user.api.post(`/api/deliveries/${waiting}/redeliver`);
  await expect.poll(() => readAlert(waiting), { timeout: 15_000 }).toMatchObject({ status: 'sent', attempts: 1 });
});

test('a message that is sent again counts toward the limits, also if it is a recovery', async () => {
  await service.database.asEngine((em) =>
    em.execute(
      `insert into message_counts select ?, 'provider ' || ?, date_trunc('hour', app_now(), 'UTC') + n * interval '1 hour', 100 from generate_series(0, 1) n`,
      [user.id, providerId],
      'run',
    ),
  );
  const down = await store({ status: `'sent'`, done_at: 'app_now()' });
  const [recovered] = await service.database.asEngine((em) =>
    em.execute<{ id: number }[]>(
      `insert into alerts (user_id, provider_id, incident_id, kind, payload, status, done_at, counted_at)
       select user_id, provider_id, incident_id, ${namedAlert("'x'", 'monitor.recovered')}, 'sent', app_now(), app_now() from alerts where id = ? returning id`,
      [down],
    ),
  );
  await user.api.post(`/api/deliveries/${recovered?.id}/redeliver`);
  await expect
    .poll(() => readAlert(Number(recovered?.id)), { timeout: 15_000 })
    .toMatchObject({ status: 'suppressed', last_error: 'the limit of 100 messages per hour for this provider is reached' });
});

const reachLimit = () =>
  service.database.asEngine((em) =>
    em.execute(
      `insert into message_counts
       select ?, 'provider ' || ?, date_trunc('hour', app_now(), 'UTC') + n * interval '1 hour', 100 from generate_series(0, 1) n
       on conflict (user_id, counter, period_start) do update set messages = 100`,
      [user.id, providerId],
      'run',
    ),
  );
const redeliver = async (id: number) => expect((await user.api.post(`/api/deliveries/${id}/redeliver`)).status).toBe(202);

test.each(['alerts.suppressed', 'provider.failing'])('a notice %s that is sent again counts toward the limits', async (kind) => {
  const payload = {
    type: kind,
    timestamp: new Date().toISOString(),
    data: { provider_id: providerId, limit: 'x', until: '2026-01-01T00:00:00Z' },
  };
  const [notice] = await service.database.asEngine((em) =>
    em.execute<{ id: number }[]>(
      `insert into alerts (user_id, provider_id, kind, payload, status, done_at) values (?, ?, ?, ?::jsonb, 'sent', app_now()) returning id`,
      [user.id, providerId, kind, JSON.stringify(payload)],
    ),
  );
  const id = Number(notice?.id);
  await reachLimit();
  await redeliver(id);
  await expect
    .poll(() => readAlert(id), { timeout: 15_000 })
    .toMatchObject({ status: 'suppressed', last_error: 'the limit of 100 messages per hour for this provider is reached' });
});

test('a recovery is sent beyond a limit, although the alert that it ends is sent again in vain, and itself is sent earlier', async () => {
  const down = await store({ status: `'failed'`, done_at: 'app_now()' });
  await redeliver(down);
  await expect.poll(() => readAlert(down), { timeout: 15_000 }).toMatchObject({ status: 'sent' });
  await reachLimit();
  await redeliver(down);
  await expect.poll(() => readAlert(down), { timeout: 15_000 }).toMatchObject({ status: 'suppressed' });
  const [recovery] = await service.database.asEngine((em) =>
    em.execute<{ id: number }[]>(
      `insert into alerts (user_id, incident_id, provider_id, kind, payload, attempts, next_attempt_at)
       select user_id, incident_id, provider_id, ${sampleAlert('monitor.recovered')}, 2, ${later} from alerts where id = ? returning id`,
      [down],
    ),
  );
  const id = Number(recovery?.id);
  await redeliver(id);
  await expect.poll(() => readAlert(id), { timeout: 15_000 }).toMatchObject({ status: 'sent' });
});

test('a message is given up 24 hours after it was queued again, not after it was created', async () => {
  const restore = setScript(receivers.telegram, scripts.respond('oops', 500));
  const id = await store({ status: `'failed'`, created_at: `app_now() - interval '3 days'`, queued_at: `app_now() - interval '3 days'` });
  await user.api.post(`/api/deliveries/${id}/redeliver`);
  await expect
    .poll(() => readAlert(id), { timeout: 15_000 })
    .toMatchObject({ status: 'queued', attempts: 1, last_error: expect.stringContaining('500') });
  restore();
});

test('test notifications are logged with their outcome, and change what the provider says about itself', async () => {
  const readProvider = async () => (await user.api.get(`/api/providers/${providerId}`)).body.data;
  expect(await readProvider()).toMatchObject({ last_delivery_error: null });
  const restore = setScript(receivers.telegram, scripts.respond('{"ok":false,"error_code":401,"description":"Unauthorized"}', 401));
  expect((await user.api.post(`/api/providers/${providerId}/test`)).status).toBe(502);
  restore();
  const error = 'Telegram rejected the message with status 401: Unauthorized.';
  expect(await readProvider()).toMatchObject({ last_delivery_error: error });
  expect((await user.api.post(`/api/providers/${providerId}/test`)).status).toBe(200);
  expect(await readProvider()).toMatchObject({ last_delivery_error: null });
  const common = { event: 'test', monitor_id: null, incident_id: null, attempts: 1, next_attempt_at: null };
  expect((await list()).data).toMatchObject([
    { ...common, status: 'sent', last_error: null, sent_at: expect.any(String) },
    { ...common, status: 'failed', last_error: error, sent_at: null },
  ]);
});

test('new settings end the pause of a provider and its failures, and a new name does not', async () => {
  const failing = async () => {
    const [row] = await service.database.asUser(user.id, (em) =>
      em.execute<{ failing: boolean }[]>(
        `select (failing_since, failing_told_at, next_message_at) is not null and failed_attempts = 9 as failing,
           num_nulls(failing_since, failing_told_at, next_message_at) + failed_attempts as healthy from providers where id = ?`,
        [providerId],
      ),
    );
    return row;
  };
  await service.database.asEngine((em) =>
    em.execute(
      `update providers set failing_since = app_now(), failing_told_at = app_now(), failed_attempts = 9, next_message_at = ${later}, last_delivery_error = 'x'
        where id = ?`,
      [providerId],
      'run',
    ),
  );
  const { body: read } = await user.api.get(`/api/providers/${providerId}`);
  await user.api.put(`/api/providers/${providerId}`, { json: { name: 'Renamed' } });
  await user.api.put(`/api/providers/${providerId}`, { json: { ...read.data, name: 'Renamed again' } });
  expect(await failing()).toEqual({ failing: true, healthy: 9 });
  const { body } = await user.api.put(`/api/providers/${providerId}`, { json: { chat_id: '-100456' } });
  expect(await failing()).toEqual({ failing: false, healthy: 3 });
  expect(body.data.last_delivery_error).toBe('x');
});

test('a test that is accepted, and new settings, make the alerts due that wait because the provider failed', async () => {
  const waiting = { attempts: '3', next_attempt_at: later, last_error: `'x'` };
  const pause = () =>
    service.database.asEngine((em) => em.execute(`update providers set next_message_at = ${later} where id = ?`, [providerId], 'run'));
  await pause();
  const first = await store(waiting);
  await user.api.post(`/api/providers/${providerId}/test`);
  await expect.poll(() => readAlert(first), { timeout: 15_000 }).toMatchObject({ status: 'sent' });
  await pause();
  const second = await store(waiting);
  const delayed = await store({ next_attempt_at: later });
  const ofOther = await store(waiting, await createProvider());
  await user.api.put(`/api/providers/${providerId}`, { json: { chat_id: '-100456' } });
  await expect.poll(() => readAlert(second), { timeout: 15_000 }).toMatchObject({ status: 'sent' });
  // It has not been attempted, so it does not wait because of a failure.
  expect(await readAlert(delayed)).toMatchObject({ status: 'queued', attempts: 0 });
  expect(await readAlert(ofOther)).toMatchObject({ status: 'queued', attempts: 3 });
});
