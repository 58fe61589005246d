import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { deleteUser } from '../../../src/accounts/users.ts';
import { readConfig } from '../../../src/config/config.ts';
import { startEngine } from '../../../src/monitoring/engine/start-engine.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { startReceivers } from '../../support/receivers.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { scripts } from '../../support/web-server.ts';

type Type = 'email' | 'slack' | 'telegram' | 'sms';

let others: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;
let user: TestUser;
let incident: number;

beforeAll(async () => {
  others = await startReceivers();
  service = await startService({ delivery: others.delivery }, { net: others.net, engine: true });
});
beforeEach(async () => {
  user = await service.createUser();
  const { body } = await user.api.post('/api/monitors', { json: { friendly_name: 'M', url: 'https://shop.example', is_active: false } });
  const [made] = await service.database.asEngine((em) =>
    em.execute<{ id: number }[]>(
      `insert into incidents (user_id, monitor_id, started_at, cause) values (?, ?, now(), 'HTTP 503') returning id`,
      [user.id, body.data.id],
    ),
  );
  incident = made?.id ?? 0;
});
afterAll(async () => {
  await service.stop();
  await others.close();
});

async function makeProvider(type: Type): Promise<number> {
  return (await user.api.post('/api/providers', { json: others.providers[type] })).body.data.id;
}

const queue = (provider: number, kind: 'down' | 'recovered', text: string) =>
  service.database.asEngine((em) =>
    em.execute(`insert into alerts (user_id, incident_id, provider_id, kind, subject, body) values (?, ?, ?, ?, 'S', ?)`, [
      user.id,
      incident,
      provider,
      kind,
      text,
    ]),
  );

const alerts = () =>
  service.database.asUser(user.id, (em) =>
    em.execute<{ body: string; status: string; attempts: number; last_error: string | null }[]>(
      'select body, status, attempts, last_error from alerts order by id',
    ),
  );

test('every outcome of an alert is counted from zero, so that the first one is seen to rise', async () => {
  const metrics = createMetrics();
  const log = pino({ level: 'silent' });
  await startEngine({ config: readConfig({}), database: service.database, secretKeys: [Buffer.alloc(32, 1)], log, metrics }).stop();
  const counted = (await metrics.alerts.get()).values.map(({ labels, value }) => [labels.channel, labels.outcome, value]);
  const outcomes = (channel: string) => ['sent', 'retried', 'failed'].map((outcome) => [channel, outcome, 0]);
  expect(counted).toEqual(['email', 'slack', 'telegram', 'sms'].flatMap(outcomes));
});

test('a provider that hangs does not hold up the others, whose alerts are there within seconds', async () => {
  const { script } = others.telegram;
  others.telegram.script = scripts.hang();
  const hanging = await makeProvider('telegram');
  await queue(hanging, 'down', 'hanging');
  for (const type of ['email', 'slack', 'sms'] as const) await queue(await makeProvider(type), 'down', `quick ${type}`);
  // Less than the 10 seconds after which the hanging one is given up.
  await expect
    .poll(() => (['email', 'slack', 'sms'] as const).filter((type) => others.received()[type].includes(`quick ${type}`)), { timeout: 9000 })
    .toHaveLength(3);
  others.telegram.script = script;
  await expect.poll(async () => (await alerts())[0]?.status, { timeout: 30_000 }).toBe('sent');
  expect((await alerts())[0]?.attempts).toBeGreaterThan(1);
}, 60_000);

test('429 with Retry-After: not before then, and the recovery only after the alert that came first', async () => {
  const { script } = others.telegram;
  others.telegram.script = scripts.accept(
    JSON.stringify({ ok: false, error_code: 429, description: 'Too Many Requests', parameters: { retry_after: 3 } }),
    429,
  );
  const provider = await makeProvider('telegram');
  const start = Date.now();
  await queue(provider, 'down', 'first');
  await queue(provider, 'recovered', 'second');
  await expect.poll(async () => (await alerts())[0]?.last_error, { timeout: 15_000 }).toContain('429');
  others.telegram.script = script;
  await expect.poll(async () => (await alerts()).map(({ status }) => status), { timeout: 30_000 }).toEqual(['sent', 'sent']);
  expect(Date.now() - start).toBeGreaterThan(2900);
  expect(others.received().telegram.slice(-2)).toEqual(['first', 'second']);
});

test('a permanent refusal is kept as failed with the reason, without a secret in it', async () => {
  const { script } = others.slack;
  others.slack.script = scripts.accept('no_service', 404);
  await queue(await makeProvider('slack'), 'down', 'refused');
  await expect.poll(async () => (await alerts())[0]?.status, { timeout: 15_000 }).toBe('failed');
  others.slack.script = script;
  const [alert] = await alerts();
  expect(alert).toMatchObject({ attempts: 1, last_error: expect.stringContaining('no_service') });
  expect(alert?.last_error).not.toContain('hidden');
});

test('after 24 hours an alert is given up, and says why', async () => {
  const { script } = others.telegram;
  others.telegram.script = scripts.accept('oops', 500);
  const provider = await makeProvider('telegram');
  await service.database.asEngine((em) =>
    em.execute(
      `insert into alerts (user_id, incident_id, provider_id, kind, subject, body, created_at) values (?, ?, ?, 'down', 'S', 'late', now() - interval '25 hours')`,
      [user.id, incident, provider],
    ),
  );
  await expect.poll(async () => (await alerts())[0]?.status, { timeout: 15_000 }).toBe('failed');
  others.telegram.script = script;
  expect((await alerts())[0]?.last_error).toContain('500');
});

test.each([
  ['provider', (provider: number) => user.api.delete(`/api/providers/${provider}`)],
  ['monitor', async () => user.api.delete(`/api/monitors/${(await user.api.get('/api/monitors')).body.data[0].id}`)],
  ['user', () => deleteUser(service.database, user.id)],
])('a %s that is deleted takes its alerts along: what waited behind a slow one is not sent any more', async (_, remove) => {
  const { script } = others.telegram;
  const provider = await makeProvider('telegram');
  let letGo = () => {};
  others.telegram.script = (request, response) => {
    letGo = () => script(request, response);
  };
  const before = others.telegram.requests.length;
  // Laid down together, so that they are leased together.
  await service.database.asEngine((em) =>
    em.execute(
      `with earlier as (
         insert into incidents (user_id, monitor_id, started_at, resolved_at, cause)
         select user_id, monitor_id, started_at, now(), cause from incidents where id = ? returning id, user_id
       )
       insert into alerts (user_id, incident_id, provider_id, kind, subject, body)
       select user_id, id, ?, 'down', 'S', 'under way' from earlier union all values (?::bigint, ?::bigint, ?::bigint, 'down', 'S', 'waiting')`,
      [incident, provider, user.id, incident, provider],
    ),
  );
  await expect.poll(() => others.telegram.requests.length, { timeout: 9000 }).toBe(before + 1);
  await remove(provider);
  others.telegram.script = script;
  letGo();
  await pause(1500);
  expect(others.telegram.requests.length).toBe(before + 1);
  expect(await service.database.asEngine((em) => em.execute('select id from alerts where user_id = ?', [user.id]))).toEqual([]);
});

// The last one: what hangs in it would be in the way of others.
test('a channel whose servers hang does not hold up the others, however many providers wait for it', async () => {
  const { script } = others.telegram;
  others.telegram.script = scripts.hang();
  for (let provider = 0; provider < 60; provider++) await queue(await makeProvider('telegram'), 'down', 'hanging');
  await expect.poll(() => others.telegram.requests.length, { timeout: 15_000 }).toBeGreaterThanOrEqual(50);
  await queue(await makeProvider('slack'), 'down', 'quick beside a channel that hangs');
  await expect.poll(() => others.received().slack, { timeout: 7000 }).toContain('quick beside a channel that hangs');
  others.telegram.script = script;
});
