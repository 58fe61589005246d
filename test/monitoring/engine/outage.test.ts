// From end to end: a real target goes down and recovers, and real servers receive the alerts.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { wakeEngine } from '../../../src/monitoring/wake.ts';
import { findPing } from '../../../src/net/ping.ts';
import { countLoggedChecks, purgeAll, readHistoryRows } from '../../support/check-history.ts';
import { openIncidents, pagerDutyEvent } from '../../support/pagerduty-receiver.ts';
import { startReceivers } from '../../support/receivers.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { startTestClock, type TestClock } from '../../support/test-clock.ts';
import { scripts, startWebServer, type WebServer } from '../../support/web-server.ts';
import { createMonitor } from '../factories.ts';

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
  user = await service.createUser();
});
afterAll(async () => {
  await service.stop();
  await target.close();
  await receivers.close();
  clock.stop();
});

const show = async (path: string) => (await user.api.get(path)).body.data;
const statusOf = async (path: string) => (await show(path)).status;

/** Makes a monitor due, instead of waiting for its interval. A running check loses its claim, so that it does not set the next check. */
const makeDue = (id: number) =>
  service.database.asEngine(async (em) => {
    await em.execute('update monitors set next_check_at = now(), claim_token = null where id = ?', [id], 'run');
    await queryInTransaction(em)(wakeEngine({}));
  });

/** Waits until so many checks of the monitor have failed in a row. Returns the seconds from the last one to the next. */
async function waitForFailures(id: number, failures: number): Promise<number> {
  const read = async () => {
    const [row] = await service.database.asEngine((em) =>
      em.execute<{ failures: number; pause: number }[]>(
        'select failures, extract(epoch from next_check_at - last_checked_at)::float8 as pause from monitors where id = ?',
        [id],
      ),
    );
    return row;
  };
  await expect.poll(read, { timeout: 20_000 }).toMatchObject({ failures });
  return (await read())?.pause ?? 0;
}

/** Lets time pass for a monitor, and then for the engine. */
async function letPass(id: number, seconds: number) {
  await service.database.asEngine((em) =>
    em.execute(
      `update monitors
          set next_check_at = next_check_at - passed, first_failed_at = first_failed_at - passed, last_checked_at = last_checked_at - passed
         from (select ? * interval '1 second' as passed) p where id = ?`,
      [seconds, id],
      'run',
    ),
  );
  clock.advance(seconds * 1000);
}

test('an outage sends one down and one recovery message with the right duration on every channel', async () => {
  const { id, path } = await createMonitor(user, { url: `http://shop.example:${target.port}/health` });
  const assign = async (json: object, enabled = true) => {
    const { body } = await user.api.post('/api/providers', { json });
    await user.api.post(`${path}/notifications`, { json: { provider_id: body.data.id, enabled } });
  };
  for (const provider of Object.values(receivers.providers)) await assign(provider);
  await assign({ provider_type: 'email', recipient_email: 'disabled@example.com' }, false);
  const onEachChannel = (count: number) => Object.values(receivers.providers).map(() => count);
  const messageCounts = () => Object.values(receivers.received()).map((texts) => texts.length);

  await makeDue(id);
  await expect.poll(() => statusOf(path), { timeout: 20_000 }).toBe('up');
  expect(await show(path)).toMatchObject({ last_error: null, last_response_time_ms: expect.any(Number) });

  target.script = scripts.respond('broken', 503);
  const failingSince = Date.now();
  await makeDue(id);
  // Two checks confirm the failure, with 5 seconds between them.
  for (const failures of [1, 2]) {
    const pause = await waitForFailures(id, failures);
    expect(pause).toBeGreaterThanOrEqual(5);
    expect(pause).toBeLessThan(30);
    await letPass(id, 5);
  }
  await expect.poll(() => statusOf(path), { timeout: 20_000 }).toBe('down');
  const [open] = (await user.api.get(`${path}/incidents`)).body.data;
  expect(open).toMatchObject({ status: 'open', cause: 'HTTP 503', status_code: 503 });
  // The incident starts at the first failure, not at the confirmation.
  expect(Date.parse(open.started_at)).toBeLessThan(Date.now() - 9000);
  expect(Date.parse(open.started_at)).toBeGreaterThan(failingSince - 15_000);
  await expect.poll(messageCounts, { timeout: 15_000 }).toEqual(onEachChannel(1));

  target.script = scripts.respond();
  await makeDue(id);
  await expect.poll(() => statusOf(path), { timeout: 20_000 }).toBe('up');
  const [resolved] = (await user.api.get(`${path}/incidents`)).body.data;
  expect(resolved).toMatchObject({ id: open.id, status: 'resolved' });
  await expect.poll(messageCounts, { timeout: 15_000 }).toEqual(onEachChannel(2));
  const { webhook, pagerduty, ...texts } = receivers.received();
  expect(webhook).toEqual(['monitor.down', 'monitor.recovered']);
  expect(pagerduty).toEqual([expect.stringMatching(/^Shop is down: 503 Service Unavailable/), 'resolve']);
  expect(openIncidents(receivers.pagerDuty.requests.map(({ body }) => pagerDutyEvent(body)))).toEqual([]);
  for (const [down, recovered] of Object.values(texts)) {
    expect(down).toMatch(/\bdown:? .*\bShop\b.*503 Service Unavailable/is);
    expect(recovered).toMatch(new RegExp(`\\bShop\\b.*was down ${resolved.duration_seconds} s`, 'is'));
  }
  const messageIds = receivers.mail.mails.map(({ parsed }) => parsed.messageId);
  expect(new Set(messageIds).size).toBe(2);
  expect(receivers.mail.mails.flatMap(({ recipients }) => recipients)).toEqual(['ops@example.com', 'ops@example.com']);

  // Further successful checks send nothing.
  const alerts = () => service.database.asUser(user.id, (em) => em.execute('select status from alerts'));
  const sent = onEachChannel(2).flatMap((count) => Array(count).fill({ status: 'sent' }));
  await expect.poll(alerts, { timeout: 15_000 }).toEqual(sent);
  const { last_checked_at } = await show(path);
  await letPass(id, 60);
  await expect.poll(async () => (await show(path)).last_checked_at, { timeout: 20_000 }).not.toBe(last_checked_at);
  expect(await alerts()).toEqual(sent);
}, 90_000);

test.each([
  ['a closed port', 'connection refused', () => 'http://shop.example:9/'],
  [
    'a redirect to an address that is not allowed',
    'address not allowed: it is private, local or reserved',
    () => `http://shop.example:${target.port}/`,
  ],
])('%s fails with the cause "%s"', async (_, cause, url) => {
  target.script = scripts.redirect('http://127.0.0.1/');
  const { id, path } = await createMonitor(user, { url: url() });
  await makeDue(id);
  await expect.poll(async () => (await show(path)).last_error, { timeout: 20_000 }).toBe(cause);
  target.script = scripts.respond();
});

test('a monitor that is paused during a check stays paused, and nothing is recorded', async () => {
  target.script = scripts.hang();
  const paths: string[] = [];
  for (const name of ['paused', 'other']) {
    const { id, path } = await createMonitor(user, { url: `http://shop.example:${target.port}/${name}` });
    await makeDue(id);
    await expect.poll(() => target.requests.some((request) => request.path === `/${name}`), { timeout: 15_000 }).toBe(true);
    paths.push(path);
  }
  const [paused = '', other = ''] = paths;
  await user.api.put(paused, { json: { is_active: false } });
  clock.advance(10_000);
  // The check of the other monitor started later, so its result is recorded at the same time at the earliest.
  await expect.poll(async () => (await show(other)).last_error, { timeout: 15_000 }).toBe('timed out after 10 s waiting for the response');
  expect(await show(paused)).toMatchObject({ status: 'paused', last_checked_at: null, last_error: null });
  target.script = scripts.respond();
});

test('a ping monitor for this machine is up, or says that this machine cannot ping; its deletion leaves no rows', async () => {
  const { id, path } = await createMonitor(user, { url: 'shop.example', type: 'ping' });
  const canPing = (await findPing()) !== undefined;
  await makeDue(id);
  const outcome = async () => {
    const { status, last_error } = await show(path);
    return last_error ?? status;
  };
  await expect.poll(outcome, { timeout: 20_000 }).toEqual(canPing ? 'up' : expect.stringContaining('cannot ping'));
  expect(await statusOf(path)).toBe(canPing ? 'up' : 'pending'); // One failure does not take it down.
  expect((await countLoggedChecks(service.database, id)).checks).toBeGreaterThan(0);
  await user.api.delete(path);
  await purgeAll(service.database);
  expect(await readHistoryRows(service.database, { monitorId: id })).toEqual([]);
});
