import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { hashKey } from '../../src/auth/api-key.ts';
import { commands } from '../../src/commands/registry.ts';
import { queryInTransaction } from '../../src/db/statement.ts';
import { countPendingAlerts } from '../../src/monitoring/alerts/outbox.ts';
import { createMonitor } from '../monitoring/factories.ts';
import { ApiClient, type ApiResponse } from '../support/api-client.ts';
import { reopen } from '../support/database.ts';
import { startReceivers } from '../support/receivers.ts';
import { expectSameProblem } from '../support/same-problem.ts';
import { namedAlert } from '../support/sample-event.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { startTestClock, type TestClock } from '../support/test-clock.ts';
import { password, signIn } from '../support/valid-requests.ts';
import { wakeAll } from '../support/wake.ts';
import { scripts, startWebServer, type WebServer } from '../support/web-server.ts';

let receivers: Awaited<ReturnType<typeof startReceivers>>;
let target: WebServer;
let service: TestService;
let user: TestUser;
let clock: TestClock;

beforeAll(async () => {
  clock = startTestClock();
  receivers = await startReceivers();
  target = await startWebServer({ host: receivers.externalAddress });
  service = await startService({ delivery: receivers.delivery }, { net: receivers.net, engine: true });
});
beforeEach(async () => {
  user = await service.createUser(password);
});
afterAll(async () => {
  await service.stop();
  await target.close();
  await receivers.close();
  clock.stop();
});

function change(command: 'user suspend' | 'user resume', email = user.email) {
  const { database } = service;
  const context = { database, secretKeys: [], config: { dataDirectory: '' }, inService: true, progress: () => {} };
  return commands[command]({ ...context, signal: AbortSignal.timeout(60_000) }, { email });
}

const query = <Row>(sql: string, params: unknown[] = []) => service.database.asEngine((em) => em.execute<Row[]>(sql, params));

test('keys and sessions are rejected like revoked ones, and the password like a wrong one, in every process, until the user is resumed', async () => {
  const database = await reopen(service.database);
  const other = await startService({}, { database });
  const urls = [service.url, other.url];
  try {
    const { body: created } = await user.api.post('/api/keys', { json: { name: 'Revoked', scopes: ['monitors:read'] } });
    await user.api.delete(`/api/keys/${created.data.id}`);
    const revoked = new ApiClient(service.url, { Authorization: `Bearer ${created.data.key}` });
    const kept = (await user.api.post('/api/keys', { json: { name: 'Kept', scopes: ['monitors:read'] } })).body.data.key;
    const cookie = await signIn(service, user.email);
    const withKey = () => Promise.all(urls.map((url) => new ApiClient(url, { Authorization: `Bearer ${kept}` }).get('/api/monitors')));
    const withCookie = () => Promise.all(urls.map((url) => new ApiClient(url, cookie).get('/api/session')));
    const statuses = async () => [...(await withKey()), ...(await withCookie())].map(({ status }) => status);
    expect(await statuses()).toEqual([200, 200, 200, 200]);

    const notified: string[] = [];
    await service.database.listen('credential_revoked', { onNotification: (hash) => notified.push(hash), onReconnect() {} });
    expect(await change('user suspend')).toEqual({ id: user.id, email: user.email, suspended: true, changed: true });
    // Every process drops what it is notified of. Without that, it would use its cache for 4 seconds.
    const token = cookie.Cookie.split('=')[1] ?? '';
    const hashes = [kept, token].map((secret) => hashKey(secret).toString('hex'));
    await expect.poll(() => notified, { timeout: 10_000 }).toEqual(expect.arrayContaining(hashes));
    await expect.poll(statuses, { timeout: 10_000 }).toEqual([401, 401, 401, 401]);
    // A process that starts now has got no notification, and asks the database.
    const later = await startService({}, { database });
    const withoutCache = [{ Authorization: `Bearer ${kept}` }, cookie].map((headers) => later.anonymous.get('/api/monitors', { headers }));
    expect((await Promise.all(withoutCache)).map(({ status }) => status)).toEqual([401, 401]);
    await later.stop();
    const [rejected] = await withKey();
    expectSameProblem(rejected as ApiResponse, await revoked.get('/api/monitors'));
    const json = { email: user.email, password };
    const wrong = await service.anonymous.post('/api/session', { json: { ...json, password: 'a wrong password' } });
    const right = await service.anonymous.post('/api/session', { json });
    expect(right.status).toBe(401);
    expectSameProblem(right, wrong);
    expect(await change('user suspend')).toMatchObject({ changed: false });

    expect(await change('user resume')).toMatchObject({ suspended: false, changed: true });
    clock.advance(8000); // A process remembers for so long what it is notified of.
    await expect.poll(statuses, { timeout: 15_000 }).toEqual([200, 200, 200, 200]);
    expect((await service.anonymous.post('/api/session', { json })).status).toBe(201);
    expect(await change('user resume')).toMatchObject({ changed: false });
  } finally {
    await other.stop();
    if (database !== service.database) await database.close();
  }
}, 60_000);

async function makeDue(id: number) {
  await query('update monitors set next_check_at = app_now() where id = ?', [id]);
  await wakeAll(service.database);
}

test('a running check is dropped, none starts, nothing is counted, and an open incident continues after the suspension', async () => {
  target.script = scripts.hang();
  const { id } = await createMonitor(user, { url: `http://target.example:${target.port}/` });
  await query(
    `with down as (update monitors set status = 'down' where id = ? returning user_id, id)
     insert into incidents (user_id, monitor_id, started_at, cause) select user_id, id, app_now(), 'HTTP 503' from down`,
    [id],
  );
  await makeDue(id);
  await expect.poll(() => target.requests.length, { timeout: 20_000 }).toBe(1);
  await change('user suspend');
  target.script = scripts.respond();

  const read = async () =>
    (
      await query<Record<string, unknown>>(
        `select next_check_at is null as unscheduled, claim_token, status, last_checked_at,
                (select count(*)::int from check_logs l where l.monitor_id = m.id) as logs,
                (select count(*)::int from incidents i where i.monitor_id = m.id and resolved_at is null) as incidents
           from monitors m where id = ?`,
        [id],
      )
    )[0];
  const suspended = { unscheduled: true, claim_token: null, status: 'down', last_checked_at: null, logs: 0, incidents: 1 };
  expect(await read()).toEqual(suspended);

  // A request that was running during the suspension schedules a check. The engine cancels it.
  await makeDue(id);
  await expect.poll(read, { timeout: 20_000 }).toEqual(suspended);
  expect(target.requests).toHaveLength(1);

  await change('user resume');
  expect(await read()).toEqual({ ...suspended, unscheduled: false });
  await makeDue(id);
  await expect.poll(async () => (await read())?.status, { timeout: 20_000 }).toBe('up');
  expect(await read()).toMatchObject({ logs: 1, incidents: 0 });
}, 90_000);

test('a paused monitor stays paused after the suspension', async () => {
  const { id } = await createMonitor(user, { is_active: false });
  await change('user suspend');
  await change('user resume');
  expect(await query('select status, next_check_at from monitors where id = ?', [id])).toEqual([{ status: 'paused', next_check_at: null }]);
});

test('failures from before the suspension do not count after it, except those of a monitor that is down', async () => {
  const ids = [(await createMonitor(user)).id, (await createMonitor(user)).id];
  await change('user suspend');
  await query(`update monitors set failures = 2, status = case when id = ? then 'down' else 'up' end where user_id = ?`, [ids[1], user.id]);
  await change('user resume');
  expect(await query('select id, failures from monitors where user_id = ? order by id', [user.id])).toEqual([
    { id: ids[0], failures: 0 },
    { id: ids[1], failures: 2 },
  ]);
});

test('alerts wait until the user is resumed, without counting as pending or delaying those of others', async () => {
  const countPending = async () => (await service.database.asEngine((em) => countPendingAlerts(queryInTransaction(em)))).count;
  const other = await service.createUser();
  await queueAlert(user, 'while suspended', () => change('user suspend'));
  expect(await countPending()).toBe(0);
  await queueAlert(other, 'of another user');
  // The dispatcher that sends the later alert has seen the earlier one.
  await expect.poll(() => receivers.names().telegram, { timeout: 20_000 }).toContain('of another user');
  expect(await statusOfAlerts(user)).toEqual([{ status: 'queued', attempts: 0 }]);

  await change('user resume');
  await expect.poll(() => statusOfAlerts(user), { timeout: 20_000 }).toEqual([{ status: 'sent', attempts: 1 }]);
  expect(receivers.names().telegram).toContain('while suspended');
}, 60_000);

const statusOfAlerts = ({ id }: TestUser) => query('select status, attempts from alerts where user_id = ?', [id]);

/** Queues an alert to a provider of the user, after `before` has run. */
async function queueAlert(owner: TestUser, text: string, before = async (): Promise<unknown> => undefined) {
  const { id: userId, api } = owner;
  const { id: monitorId } = await createMonitor(owner, { is_active: false });
  const providerId = (await api.post('/api/providers', { json: receivers.providers.telegram })).body.data.id;
  await before();
  await query(
    `with incident as (insert into incidents (user_id, monitor_id, started_at, cause) values (?, ?, app_now(), 'HTTP 503') returning id)
     insert into alerts (user_id, incident_id, provider_id, kind, payload) select ?, id, ?, ${namedAlert('?')} from incident`,
    [userId, monitorId, userId, providerId, text],
  );
  await wakeAll(service.database);
}
