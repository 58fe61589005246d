// The whole way: a real target goes down and comes back, and everybody who should hear of it does, once.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findPing } from '../../../src/net/ping.ts';
import { startReceivers } from '../../support/receivers.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { scripts, startWebServer, type WebServer } from '../../support/web-server.ts';

let others: Awaited<ReturnType<typeof startReceivers>>;
let target: WebServer;
let service: TestService;
let user: TestUser;

beforeAll(async () => {
  others = await startReceivers();
  target = await startWebServer({ host: others.outside });
  service = await startService({ delivery: others.delivery }, { net: others.net, engine: true });
  user = await service.createUser();
});
afterAll(async () => {
  await service.stop();
  await target.close();
  await others.close();
});

const monitor = async (id: number) => (await user.api.get(`/api/monitors/${id}`)).body.data;
/** Instead of waiting for the interval. A check under way does not count, or it would set the next one. */
const dueNow = (id: number) =>
  service.database.asEngine((em) => em.execute('update monitors set next_check_at = now(), claim_token = null where id = ?', [id], 'run'));

async function create(url: string, json: object = {}): Promise<number> {
  return (await user.api.post('/api/monitors', { json: { friendly_name: 'Shop', url, ...json } })).body.data.id;
}

test('up → down → up: one down and one recovered message on all four channels, with the right length', async () => {
  const id = await create(`http://shop.example:${target.port}/health`);
  for (const json of Object.values(others.providers)) {
    const { body } = await user.api.post('/api/providers', { json });
    await user.api.post(`/api/monitors/${id}/notifications`, { json: { provider_id: body.data.id } });
  }
  const silent = await user.api.post('/api/providers', { json: { provider_type: 'email', recipient_email: 'silent@example.com' } });
  await user.api.post(`/api/monitors/${id}/notifications`, { json: { provider_id: silent.body.data.id, enabled: false } });

  await expect.poll(async () => (await monitor(id)).status, { timeout: 20_000 }).toBe('up');
  expect(await monitor(id)).toMatchObject({ last_error: null, last_response_time_ms: expect.any(Number) });

  target.script = scripts.accept('broken', 503);
  const failedFirst = Date.now();
  await dueNow(id);
  await expect.poll(async () => (await monitor(id)).status, { timeout: 40_000, interval: 250 }).toBe('down');
  // Two confirmations, 5 seconds apart.
  expect(Date.now() - failedFirst).toBeGreaterThan(9000);
  const [open] = (await user.api.get(`/api/monitors/${id}/incidents`)).body.data;
  expect(open).toMatchObject({ status: 'open', cause: 'HTTP 503', status_code: 503 });
  // Since the first failure, not since it was confirmed.
  expect(Math.abs(Date.parse(open.started_at) - failedFirst)).toBeLessThan(9000);
  await expect.poll(() => Object.values(others.received()).map((texts) => texts.length), { timeout: 15_000 }).toEqual([1, 1, 1, 1]);

  target.script = scripts.accept();
  await dueNow(id);
  await expect.poll(async () => (await monitor(id)).status, { timeout: 20_000 }).toBe('up');
  const [resolved] = (await user.api.get(`/api/monitors/${id}/incidents`)).body.data;
  expect(resolved).toMatchObject({ id: open.id, status: 'resolved' });
  await expect.poll(() => Object.values(others.received()).map((texts) => texts.length), { timeout: 15_000 }).toEqual([2, 2, 2, 2]);
  for (const [down, recovered] of Object.values(others.received())) {
    expect(down).toMatch(/^DOWN: Shop \(http:\/\/shop\.example:\d+\/health\) since [-\d]+ [\d:]+ UTC: HTTP 503$/);
    expect(recovered).toContain(`is back after ${resolved.duration_seconds} s`);
  }
  const ids = others.mail.mails.map(({ parsed }) => parsed.messageId);
  expect(new Set(ids).size).toBe(2);
  expect(others.mail.mails.flatMap(({ recipients }) => recipients)).toEqual(['ops@example.com', 'ops@example.com']);

  // Further checks tell nobody anything.
  await dueNow(id);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(Object.values(others.received()).map((texts) => texts.length)).toEqual([2, 2, 2, 2]);
}, 150_000);

test.each([
  ['a port that nobody listens on', 'http://shop.example:9/', 'connection refused'],
  ['a redirect to an address that may not be reached', '', 'address_not_allowed'],
])('%s is down with a cause that a person understands', async (_, url, cause) => {
  target.script = scripts.redirect('http://127.0.0.1/');
  const id = await create(url || `http://shop.example:${target.port}/`);
  await expect.poll(async () => (await monitor(id)).last_error, { timeout: 20_000 }).toBe(cause);
  target.script = scripts.accept();
});

test('a monitor that is paused while a check is under way stays paused, and nothing is recorded', async () => {
  target.script = scripts.hang();
  const id = await create(`http://shop.example:${target.port}/hang`);
  await expect.poll(() => target.requests.some(({ path }) => path === '/hang'), { timeout: 15_000 }).toBe(true);
  await user.api.put(`/api/monitors/${id}`, { json: { is_active: false } });
  await new Promise((resolve) => setTimeout(resolve, 11_500));
  expect(await monitor(id)).toMatchObject({ status: 'paused', last_checked_at: null, last_error: null });
  target.script = scripts.accept();
});

test('a ping monitor of this machine is up, or without a verdict where nobody may ping; deleted it leaves nothing', async () => {
  const id = await create('shop.example', { type: 'ping' });
  const mayPing = (await findPing()) !== undefined;
  if (!mayPing) await new Promise((resolve) => setTimeout(resolve, 6000));
  await expect.poll(async () => (await monitor(id)).status, { timeout: 20_000 }).toBe(mayPing ? 'up' : 'pending');
  await user.api.delete(`/api/monitors/${id}`);
  const rows = await service.database.asEngine((em) => em.execute('select * from check_hours where monitor_id = ?', [id]));
  expect(rows).toEqual([]);
});
