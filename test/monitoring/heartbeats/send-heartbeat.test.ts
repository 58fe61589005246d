import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { commands } from '../../../src/commands/registry.ts';
import type { Database } from '../../../src/db/database.ts';
import { HeartbeatReceiver } from '../../../src/monitoring/heartbeats/receiver.ts';
import { redactCredentials } from '../../../src/telemetry/redact.ts';
import { etag as etagOf } from '../../support/etags.ts';
import { rawExchange } from '../../support/raw-http.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { expectWithin, startStopwatch } from '../../support/stall.ts';
import { storedRows } from '../../support/stored-rows.ts';
import { createMonitor, monitorExample } from '../factories.ts';
import { assignProvider, createHeartbeat, readAlertKinds, readCounts, readIncidents, readMonitor } from './heartbeat-monitors.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
});
afterAll(() => service.stop());

const unknownToken = 'A'.repeat(32);
const execute = (sql: string, params: unknown[]) => service.database.asUser(user.id, (em) => em.execute(sql, params, 'run'));

describe('a heartbeat monitor', () => {
  test('has an absolute heartbeat_url below PUBLIC_URL, with 32 random letters and digits', async () => {
    const published = await startService({}, { database: service.database, publicUrl: 'https://status.example' });
    onTestFinished(() => published.stop());
    const other = await published.createUser();
    const urls = await Promise.all(
      [1, 2].map(async () => (await createMonitor(other, { type: 'heartbeat', url: undefined })).data.heartbeat_url),
    );
    for (const url of urls) expect(url).toMatch(/^https:\/\/status\.example\/api\/heartbeats\/[0-9A-Za-z]{32}$/);
    expect(urls[0]).not.toBe(urls[1]);
  });

  test('can be created and changed with 0 confirmations', async () => {
    const monitor = await createHeartbeat(user, { confirmations: 0 });
    expect((await user.api.put(monitor.path, { json: { confirmations: 0 } })).status).toBe(200);
    expect((await user.api.put(monitor.path, { json: { confirmations: 1 } })).status).toBe(422);
  });

  test('shows its heartbeat_url only to those who may change it, and only then forbids to store the response', async () => {
    const monitor = await createHeartbeat(user);
    const reader = await user.withScopes('monitors:read');
    for (const path of [monitor.path, '/api/monitors']) {
      const [forReader, forWriter] = [await reader.get(path), await user.api.get(path)];
      expect([forReader.text.includes('"heartbeat_url":null'), forReader.text.includes(monitor.token)]).toEqual([true, false]);
      expect(forReader.headers.get('Cache-Control')).toBe('private, no-cache');
      expect(forWriter.text).toContain(monitor.token);
      expect(forWriter.headers.get('Cache-Control')).toBe('no-store');
    }
  });

  test('has no heartbeat_url if the key that encrypted its token is lost', async () => {
    const { id, path } = await createHeartbeat(user);
    await execute(`update monitors set settings = jsonb_set(settings, '{token,encrypted}', '"v1.lost.x"') where id = ?`, [id]);
    const [shown, listed] = [await user.api.get(path), await user.api.get('/api/monitors')];
    expect([shown.status, shown.body.data]).toMatchObject([200, { id, heartbeat_url: null }]);
    expect([listed.status, listed.body.data]).toMatchObject([200, [{ id, heartbeat_url: null }]]);
  });

  test('is created once per Idempotency-Key, and a repetition does not show the token again', async () => {
    const create = () =>
      user.api.post('/api/monitors', {
        json: { ...monitorExample, url: undefined, type: 'heartbeat' },
        headers: { 'Idempotency-Key': '"beat"' },
      });
    const [first, second] = [await create(), await create()];
    expect([first.status, first.headers.get('Cache-Control')]).toEqual([201, 'no-store']);
    expect([second.status, second.body.code, second.body.id]).toEqual([409, 'already_created', first.body.data.id]);
    expect(second.body.detail).toContain('Read the resource instead.');
    const token = String(first.body.data.heartbeat_url).split('/').at(-1) ?? '';
    const stored = await storedRows(service.database, [user.id]);
    expect(stored.join()).toContain('idempotent_responses');
    expect(stored.join()).not.toContain(token);
  });

  test('stores the hash of its token and the encrypted token, and not the token itself', async () => {
    const { id, token } = await createHeartbeat(user);
    const [row] = await service.database.asUser(user.id, (em) =>
      em.execute<{ settings: { token: { hash: string; encrypted: string } } }[]>('select * from monitors where id = ?', [id]),
    );
    expect(row?.settings.token).toEqual({ hash: expect.stringMatching(/^[0-9a-f]{64}$/), encrypted: expect.any(String) });
    expect(JSON.stringify(row)).not.toContain(token);
  });

  test('cannot be checked manually, paused or not', async () => {
    for (const is_active of [true, false]) {
      const monitor = await createHeartbeat(user, { is_active });
      const { status, body } = await user.api.post(`${monitor.path}/check`);
      expect([status, body.code]).toEqual([409, 'nothing_to_check']);
    }
  });
});

describe('a heartbeat', () => {
  test.each(['GET', 'HEAD', 'POST'])('is accepted with %s and without a key, and is counted as a success', async (method) => {
    const monitor = await createHeartbeat(user);
    const { status, body } = await service.anonymous.request(method, monitor.receiver);
    expect([status, body]).toEqual([200, method === 'HEAD' ? undefined : { data: { outcome: 'up' } }]);
    expect(await readMonitor(user, monitor)).toMatchObject({ status: 'up', last_checked_at: expect.any(String), last_error: null });
    expect(await readCounts(service, monitor)).toEqual({ checks: 1, failures: 0 });
  });

  test.each(['GET', 'HEAD', 'POST'])('that reports a failure with %s brings the monitor down at once, with its cause', async (method) => {
    const monitor = await createHeartbeat(user);
    await assignProvider(user, monitor);
    const { status, body } = await service.anonymous.request(method, `${monitor.receiver}/fail`);
    expect([status, body]).toEqual([200, method === 'HEAD' ? undefined : { data: { outcome: 'down' } }]);
    expect(await readMonitor(user, monitor)).toMatchObject({ status: 'down', last_error: 'the job reported a failure' });
    expect(await readIncidents(user, monitor)).toMatchObject([{ status: 'open', cause: 'the job reported a failure', status_code: null }]);
    expect(await readAlertKinds(service, user)).toEqual(['monitor.down']);
    expect(await readCounts(service, monitor)).toEqual({ checks: 1, failures: 1 });
  });

  test('after a failure brings the monitor up, resolves the incident and queues alerts for enabled assignments', async () => {
    const monitor = await createHeartbeat(user);
    await assignProvider(user, monitor);
    await assignProvider(user, monitor, false);
    await service.anonymous.post(`${monitor.receiver}/fail`);
    await service.anonymous.post(monitor.receiver);
    expect(await readMonitor(user, monitor)).toMatchObject({ status: 'up', last_error: null });
    expect(await readIncidents(user, monitor)).toMatchObject([{ status: 'resolved' }]);
    expect(await readAlertKinds(service, user)).toEqual(['monitor.down', 'monitor.recovered']);
  });

  test('that reports a failure after a maintenance opens an incident at once', async () => {
    const monitor = await createHeartbeat(user);
    await execute(`update monitors set maintenance_until = now() - interval '1 hour' where id = ?`, [monitor.id]);
    await service.anonymous.post(`${monitor.receiver}/fail`);
    expect(await readIncidents(user, monitor)).toMatchObject([{ status: 'open' }]);
  });

  test.each([
    ['success', ''],
    ['failure', '/fail'],
  ])('that reports a %s clears the response time, as it has none', async (_, end) => {
    const monitor = await createHeartbeat(user);
    await execute('update monitors set last_response_time_ms = 17 where id = ?', [monitor.id]);
    await service.anonymous.post(monitor.receiver + end);
    expect(await readMonitor(user, monitor)).toMatchObject({ last_response_time_ms: null });
  });

  test.each([
    ['success', ''],
    ['failure', '/fail'],
  ])('that reports a %s is the time of the last check, and a new state with another ETag', async (_, end) => {
    const monitor = await createHeartbeat(user);
    await execute(`update monitors set last_checked_at = now() - interval '1 hour' where id = ?`, [monitor.id]);
    const before = await user.api.get(monitor.path);
    expect(before.headers.get('ETag')).toEqual(etagOf('monitor', monitor.id, '1.1'));
    await service.anonymous.post(monitor.receiver + end);
    const after = await user.api.get(monitor.path, { headers: { 'If-None-Match': before.headers.get('ETag') ?? '' } });
    expect([after.status, after.headers.get('ETag')]).toEqual([200, etagOf('monitor', monitor.id, '1.2')]);
    expect(Date.parse(after.body.data.last_checked_at)).toBeGreaterThan(Date.parse(before.body.data.last_checked_at));
  });

  test('that reports a second failure opens no second incident and queues no further alert', async () => {
    const monitor = await createHeartbeat(user);
    await assignProvider(user, monitor);
    for (let count = 0; count < 3; count++) await service.anonymous.post(`${monitor.receiver}/fail`);
    expect(await readIncidents(user, monitor)).toHaveLength(1);
    expect(await readAlertKinds(service, user)).toEqual(['monitor.down']);
    expect(await readCounts(service, monitor)).toEqual({ checks: 3, failures: 3 });
  });

  test.each([
    ['JSON that is not valid', 'application/json', '{'],
    ['a form', 'application/x-www-form-urlencoded', 'a=1&a=2'],
    ['text in an unknown encoding', 'text/plain; charset=x-unknown', 'done'],
    ['bytes of no known type', 'x/y', '\u0000\u0001'],
  ])('can have a body, which is ignored: %s', async (_, type, raw) => {
    const monitor = await createHeartbeat(user);
    const { status } = await service.anonymous.post(monitor.receiver, { raw, headers: { 'Content-Type': type } });
    expect(status).toBe(200);
    expect(await readMonitor(user, monitor)).toMatchObject({ status: 'up' });
  });

  test.each([
    ['text/html', 'GET', ''],
    ['text/html', 'POST', '/fail'],
    ['text/html', 'HEAD', ''],
    ['image/png;q=0.9, */*;q=0', 'GET', '/fail'],
    ['not a media type', 'POST', ''],
  ])('is not lost if the sender accepts only %s: %s %s', async (accept, method, end) => {
    const monitor = await createHeartbeat(user);
    const { status, headers } = await service.anonymous.request(method, monitor.receiver + end, { headers: { Accept: accept } });
    expect([status, headers.get('Content-Type')]).toEqual([200, 'application/json']);
    expect(await readMonitor(user, monitor)).toMatchObject({ status: end === '' ? 'up' : 'down' });
  });

  test('is recorded before its body has arrived, and one that never ends keeps the connection open for 10 seconds at most', async () => {
    const monitor = await createHeartbeat(user);
    const elapsed = startStopwatch();
    const { text } = await rawExchange(service.url, (socket) => {
      socket.write(`POST ${monitor.receiver} HTTP/1.1\r\nHost: a\r\nContent-Type: /;;\r\nTransfer-Encoding: chunked\r\n\r\n`);
      const sending = setInterval(() => socket.write(`10000\r\n${'x'.repeat(0x10000)}\r\n`), 50);
      socket.once('close', () => clearInterval(sending));
    });
    expectWithin(10, elapsed());
    expect(text).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(await readCounts(service, monitor)).toEqual({ checks: 1, failures: 0 });
  });

  test('with a body leaves the connection usable for the next one', async () => {
    const monitor = await createHeartbeat(user);
    const body = 'x'.repeat(300 * 1024);
    const first = `POST ${monitor.receiver} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const second = `GET ${monitor.receiver}/fail HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
    const { text } = await rawExchange(service.url, first + second);
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200']);
    expect(await readCounts(service, monitor)).toEqual({ checks: 2, failures: 1 });
  });

  test('is accepted from a page of another origin, also with an invalid key or session', async () => {
    const monitor = await createHeartbeat(user);
    const headers = { Origin: 'https://other.example', 'Sec-Fetch-Site': 'cross-site', Authorization: 'Bearer x', Cookie: 'session=x' };
    expect((await service.anonymous.post(monitor.receiver, { headers })).status).toBe(200);
  });

  test('is counted each time, also if the sender has seen the response before', async () => {
    const monitor = await createHeartbeat(user);
    const { headers } = await fetch(service.url + monitor.receiver);
    const { status } = await fetch(service.url + monitor.receiver, { headers: { 'If-None-Match': headers.get('ETag') ?? '*' } });
    expect(await readCounts(service, monitor)).toEqual({ checks: 2, failures: 0 });
    expect(status).toBe(200);
  });

  test('to a paused monitor is ignored, and the response says so', async () => {
    const monitor = await createHeartbeat(user, { is_active: false });
    const before = (await user.api.get(monitor.path)).headers.get('ETag');
    for (const path of [monitor.receiver, `${monitor.receiver}/fail`]) {
      const { status, body } = await service.anonymous.post(path);
      expect([status, body]).toEqual([200, { data: { outcome: 'ignored' } }]);
    }
    expect(await readMonitor(user, monitor)).toMatchObject({ status: 'paused', last_checked_at: null });
    expect((await user.api.get(monitor.path)).headers.get('ETag')).toBe(before);
    expect(await readCounts(service, monitor)).toEqual({ checks: 0, failures: 0 });
  });

  test('for a deleted monitor is not found', async () => {
    const monitor = await createHeartbeat(user);
    await user.api.delete(monitor.path);
    expect((await service.anonymous.post(monitor.receiver)).status).toBe(404);
  });

  test('for the monitor of a suspended user is not found, until the user is resumed', async () => {
    const monitor = await createHeartbeat(user);
    const { database } = service;
    const context = { database, secretKeys: [], config: { dataDirectory: '' }, inService: true, progress: () => {} };
    const change = (command: 'user suspend' | 'user resume') =>
      commands[command]({ ...context, signal: AbortSignal.timeout(60_000) }, { email: user.email });
    await change('user suspend');
    expect((await service.anonymous.post(monitor.receiver)).status).toBe(404);
    expect(await readCounts(service, monitor)).toEqual({ checks: 0, failures: 0 });
    await change('user resume');
    expect((await service.anonymous.post(monitor.receiver)).status).toBe(200);
  });

  test.each([
    ['an unknown token', unknownToken, 404],
    ['a token in another case', 'lower', 404],
    ['a token that is encoded', '%41', 404],
    ['a token that is too long', 'x'.repeat(65), 422],
    ['a token with a null character', 'a%00b', 422],
    ['a token that is not valid UTF-8', '%ff', 404],
  ])('with %s is rejected', async (_, sent, status) => {
    const { token } = await createHeartbeat(user);
    const given = sent === 'lower' ? token.toLowerCase() : sent;
    expect((await service.anonymous.post(`/api/heartbeats/${given}`)).status).toBe(status);
  });

  test('can be sent 60 times a minute for each token, and then gets 429 with Retry-After', async () => {
    const [monitor, other] = [await createHeartbeat(user), await createHeartbeat(user)];
    const statuses: number[] = [];
    for (let count = 0; count < 60; count++) {
      statuses.push((await service.anonymous.post(count % 2 ? monitor.receiver : `${monitor.receiver}/fail`)).status);
    }
    expect(statuses).toEqual(Array(60).fill(200));
    const { status, body, headers } = await service.anonymous.post(monitor.receiver);
    expect([status, body.code]).toEqual([429, 'rate_limited']);
    expect(body.detail).toMatch(/^The limit for this token is 60 requests per minute\. Retry in \d+ seconds?\.$/);
    expect(Number(headers.get('Retry-After'))).toBeGreaterThan(0);
    expect((await service.anonymous.post(other.receiver)).status).toBe(200);
  });
});

describe('the limit of an address', () => {
  async function startLimited(rateLimitPerMinute: number, database = service.database): Promise<TestService> {
    const limited = await startService({ rateLimitPerMinute }, { database });
    onTestFinished(() => limited.stop());
    return limited;
  }

  test('counts unknown tokens, and leaves known ones alone', async () => {
    const monitor = await createHeartbeat(user);
    const { anonymous } = await startLimited(50);
    const statuses: number[] = [];
    for (let count = 0; count < 7; count++) statuses.push((await anonymous.post(`/api/heartbeats/${unknownToken}${count}`)).status);
    expect(statuses).toEqual([...Array(5).fill(404), 429, 429]);
    expect((await anonymous.post(monitor.receiver)).status).toBe(200);
  });

  test('counts tokens that are too long', async () => {
    const { anonymous } = await startLimited(50);
    const statuses: number[] = [];
    for (let count = 0; count < 7; count++) statuses.push((await anonymous.post(`/api/heartbeats/${'x'.repeat(70)}${count}`)).status);
    expect(statuses).toEqual([...Array(5).fill(422), 429, 429]);
  });

  test('is the only one for unknown tokens: none of them has a counter of its own', async () => {
    const { anonymous } = await startLimited(10_000);
    const statuses: number[] = [];
    for (let count = 0; count < 62; count++) statuses.push((await anonymous.post(`/api/heartbeats/${unknownToken}`)).status);
    expect(statuses).toEqual(Array(62).fill(404));
  });

  test('does not count known tokens', async () => {
    const monitors = await Promise.all(Array.from({ length: 5 }, () => createHeartbeat(user)));
    const { anonymous } = await startLimited(20);
    const statuses: number[] = [];
    for (let round = 0; round < 8; round++) for (const { receiver } of monitors) statuses.push((await anonymous.post(receiver)).status);
    expect(statuses).toEqual(Array(40).fill(200));
    expect((await anonymous.post(`/api/heartbeats/${unknownToken}`)).status).toBe(404);
  });

  test('does not reject known tokens that come all at once, as at the full minute', async () => {
    const monitors = await Promise.all(Array.from({ length: 30 }, () => createHeartbeat(user)));
    // No heartbeat is recorded before all have arrived.
    const { database } = service;
    const recorded = Promise.withResolvers<void>();
    const held: Database = {
      ...database,
      concurrency: database.concurrency,
      asUser: (userId, work) => database.asUser(userId, work),
      asAuthenticator: (work) => database.asAuthenticator(work),
      query: (userId) => database.query(userId),
      listen: (channel, listener) => database.listen(channel, listener),
      now: () => database.now(),
      engineTransaction: async (work) => {
        await recorded.promise;
        return database.engineTransaction(work);
      },
    };
    const { anonymous } = await startLimited(20, held);
    onTestFinished(() => recorded.resolve());
    const receive = vi.spyOn(HeartbeatReceiver.prototype, 'receive');
    onTestFinished(() => receive.mockRestore());
    const responses = monitors.map(({ receiver }) => anonymous.post(receiver));
    await expect.poll(() => receive.mock.calls.length, { timeout: 20_000 }).toBe(30);
    recorded.resolve();
    expect((await Promise.all(responses)).map(({ status }) => status)).toEqual(Array(30).fill(200));
  });

  test('leaves known tokens alone after as many unknown ones as the address may look up', async () => {
    const monitor = await createHeartbeat(user);
    const { anonymous } = await startLimited(10);
    const statuses: number[] = [];
    for (let count = 0; count < 12; count++) statuses.push((await anonymous.post(`/api/heartbeats/${unknownToken}${count}`)).status);
    expect(statuses).toEqual([404, ...Array(11).fill(429)]);
    expect((await anonymous.post(monitor.receiver)).status).toBe(200);
  });
});

describe('a token is in no log and no problem', () => {
  const lines: string[] = [];
  let logged: TestService;

  beforeAll(async () => {
    const stream = new Writable({
      write(line, _, done) {
        lines.push(String(line));
        done();
      },
    });
    const log = pino({ hooks: { streamWrite: redactCredentials } }, stream); // As log.ts does.
    logged = await startService({}, { database: service.database, log });
  });
  afterAll(() => logged.stop());

  test.each([
    ['a heartbeat', 'POST', (token: string) => `/api/heartbeats/${token}`],
    ['a failure', 'POST', (token: string) => `/api/heartbeats/${token}/fail`],
    ['a mistyped end', 'POST', (token: string) => `/api/heartbeats/${token}/typo`],
    ['an end that is repeated', 'POST', (token: string) => `/api/heartbeats/${token}/fail/fail`],
    ['a method that is not supported', 'DELETE', (token: string) => `/api/heartbeats/${token}`],
    ['a token that is too long', 'POST', (token: string) => `/api/heartbeats/${token}${token}x`],
    ['a path without /api', 'POST', (token: string) => `/heartbeats/${token}`],
    ['an encoded slash', 'POST', (token: string) => `/api/heartbeats%2F${token}`],
    ['another case', 'POST', (token: string) => `/API/Heartbeats/${token}`],
    ['two slashes', 'POST', (token: string) => `/api/heartbeats//${token}`],
    ['the token after fail', 'POST', (token: string) => `/api/heartbeats/fail/${token}`],
    ['the singular', 'POST', (token: string) => `/api/heartbeat/${token}`],
    ['a missing slash', 'POST', (token: string) => `/api/heartbeats/${token}fail`],
    ['a colon instead of a slash', 'GET', (token: string) => `/api/heartbeats:${token}`],
    ['an encoded backslash', 'GET', (token: string) => `/api/heartbeats%5c${token}`],
    ['another path', 'GET', (token: string) => `/hb-${token}`],
    ['any path, if it is also the request ID', 'GET', () => '/api/monitors'],
  ])('for %s', async (_, method, pathOf) => {
    const { token } = await createHeartbeat(user);
    const before = lines.length;
    const response = await fetch(logged.url + pathOf(token), { method, headers: { 'X-Request-Id': token } });
    const text = (await response.text()) + response.headers.get('X-Request-Id');
    await expect.poll(() => lines.length, { timeout: 10_000 }).toBeGreaterThan(before);
    expect(text).not.toContain(token);
    expect(lines.slice(before).join('')).not.toContain(token);
  });
});
