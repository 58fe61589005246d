// From end to end: a real target goes down and recovers, and real servers receive the alerts.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { wakeEngine } from '../../../src/monitoring/wake.ts';
import { findPing } from '../../../src/net/ping.ts';
import { startReceivers } from '../../support/receivers.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { scripts, startWebServer, type WebServer } from '../../support/web-server.ts';
import { createMonitor } from '../factories.ts';

let receivers: Awaited<ReturnType<typeof startReceivers>>;
let target: WebServer;
let service: TestService;
let user: TestUser;

beforeAll(async () => {
  receivers = await startReceivers();
  target = await startWebServer({ host: receivers.externalAddress });
  service = await startService({ delivery: receivers.delivery }, { net: receivers.net, engine: true });
  user = await service.createUser();
});
afterAll(async () => {
  await service.stop();
  await target.close();
  await receivers.close();
});

const show = async (path: string) => (await user.api.get(path)).body.data;
const statusOf = async (path: string) => (await show(path)).status;

/** Makes a monitor due, instead of waiting for its interval. A running check loses its claim, so that it does not set the next check. */
const makeDue = (id: number) =>
  service.database.asEngine(async (em) => {
    await em.execute('update monitors set next_check_at = now(), claim_token = null where id = ?', [id], 'run');
    await queryInTransaction(em)(wakeEngine({}));
  });

test('an outage sends one down and one recovery message with the right duration on all four channels', async () => {
  const { id, path } = await createMonitor(user, { url: `http://shop.example:${target.port}/health` });
  const assign = async (json: object, enabled = true) => {
    const { body } = await user.api.post('/api/providers', { json });
    await user.api.post(`${path}/notifications`, { json: { provider_id: body.data.id, enabled } });
  };
  for (const provider of Object.values(receivers.providers)) await assign(provider);
  await assign({ provider_type: 'email', recipient_email: 'disabled@example.com' }, false);
  const messageCounts = () => Object.values(receivers.received()).map((texts) => texts.length);

  await expect.poll(() => statusOf(path), { timeout: 20_000 }).toBe('up');
  expect(await show(path)).toMatchObject({ last_error: null, last_response_time_ms: expect.any(Number) });

  target.script = scripts.respond('broken', 503);
  const failingSince = Date.now();
  await makeDue(id);
  await expect.poll(() => statusOf(path), { timeout: 40_000, interval: 250 }).toBe('down');
  // Two checks confirm the failure, with 5 seconds between them.
  expect(Date.now() - failingSince).toBeGreaterThan(9000);
  const [open] = (await user.api.get(`${path}/incidents`)).body.data;
  expect(open).toMatchObject({ status: 'open', cause: 'HTTP 503', status_code: 503 });
  // The incident starts at the first failure, not at the confirmation.
  expect(Math.abs(Date.parse(open.started_at) - failingSince)).toBeLessThan(9000);
  await expect.poll(messageCounts, { timeout: 15_000 }).toEqual([1, 1, 1, 1]);

  target.script = scripts.respond();
  await makeDue(id);
  await expect.poll(() => statusOf(path), { timeout: 20_000 }).toBe('up');
  const [resolved] = (await user.api.get(`${path}/incidents`)).body.data;
  expect(resolved).toMatchObject({ id: open.id, status: 'resolved' });
  await expect.poll(messageCounts, { timeout: 15_000 }).toEqual([2, 2, 2, 2]);
  for (const [down, recovered] of Object.values(receivers.received())) {
    expect(down).toMatch(/^DOWN: Shop \(http:\/\/shop\.example:\d+\/health\) since [-\d]+ [\d:]+ UTC: HTTP 503$/);
    expect(recovered).toContain(`is back after ${resolved.duration_seconds} s`);
  }
  const messageIds = receivers.mail.mails.map(({ parsed }) => parsed.messageId);
  expect(new Set(messageIds).size).toBe(2);
  expect(receivers.mail.mails.flatMap(({ recipients }) => recipients)).toEqual(['ops@example.com', 'ops@example.com']);

  // Further successful checks send nothing.
  await makeDue(id);
  await delay(1500);
  expect(messageCounts()).toEqual([2, 2, 2, 2]);
}, 150_000);

test.each([
  ['a closed port', 'connection refused', () => 'http://shop.example:9/'],
  ['a redirect to an address that is not allowed', 'address_not_allowed', () => `http://shop.example:${target.port}/`],
])('%s fails with the cause "%s"', async (_, cause, url) => {
  target.script = scripts.redirect('http://127.0.0.1/');
  const { path } = await createMonitor(user, { url: url() });
  await expect.poll(async () => (await show(path)).last_error, { timeout: 20_000 }).toBe(cause);
  target.script = scripts.respond();
});

test('a monitor that is paused during a check stays paused, and nothing is recorded', async () => {
  target.script = scripts.hang();
  const { path } = await createMonitor(user, { url: `http://shop.example:${target.port}/hang` });
  await expect.poll(() => target.requests.some((request) => request.path === '/hang'), { timeout: 15_000 }).toBe(true);
  await user.api.put(path, { json: { is_active: false } });
  await delay(11_500); // Longer than the timeout of a check.
  expect(await show(path)).toMatchObject({ status: 'paused', last_checked_at: null, last_error: null });
  target.script = scripts.respond();
});

test('a ping monitor for this machine is up, or pending if this machine cannot ping; its deletion leaves no rows', async () => {
  const { id, path } = await createMonitor(user, { url: 'shop.example', type: 'ping' });
  const canPing = (await findPing()) !== undefined;
  if (!canPing) await delay(6000);
  await expect.poll(() => statusOf(path), { timeout: 20_000 }).toBe(canPing ? 'up' : 'pending');
  await user.api.delete(path);
  const rows = await service.database.asEngine((em) => em.execute('select * from check_hours where monitor_id = ?', [id]));
  expect(rows).toEqual([]);
});
