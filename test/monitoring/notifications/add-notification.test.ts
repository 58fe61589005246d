import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Work } from '../../../src/db/database.ts';
import { MonitorEntity } from '../../../src/monitoring/monitors/monitor.entity.ts';
import { ProviderEntity } from '../../../src/monitoring/providers/provider.entity.ts';
import { sendDuringTransaction } from '../../support/database.ts';
import { expectSameProblem } from '../../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor, createProvider } from '../factories.ts';

let service: TestService;
let user: TestUser;
let monitorId: number;
let providerId: number;
let path: string;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
  monitorId = (await createMonitor(user)).id;
  providerId = (await createProvider(user)).id;
  path = `/api/monitors/${monitorId}/notifications`;
});
afterAll(() => service.stop());

const add = (json: object) => user.api.post(path, { json });
const assignments = async () => (await user.api.get(path)).body.data;

test('returns 201 for a new assignment, which is enabled by default', async () => {
  const { status, body } = await add({ provider_id: providerId });
  const data = {
    monitor_id: monitorId,
    provider_id: providerId,
    enabled: true,
    delay_seconds: 0,
    remind_every_seconds: null,
    created_at: expect.any(String),
  };
  expect([status, body.data]).toEqual([201, data]);
  expect(await assignments()).toEqual([body.data]);
});

test('returns 200 for an existing assignment and sets enabled, which is true if absent', async () => {
  const first = await add({ provider_id: providerId });
  const disabled = await add({ provider_id: providerId, enabled: false });
  expect([disabled.status, disabled.body.data]).toEqual([200, { ...first.body.data, enabled: false }]);
  const enabled = await add({ provider_id: providerId });
  expect([enabled.status, enabled.body.data.enabled]).toEqual([200, true]);
  expect(await assignments()).toHaveLength(1);
});

test('20 concurrent requests create one assignment', async () => {
  const responses = await Promise.all(Array.from({ length: 20 }, () => add({ provider_id: providerId })));
  expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(19);
});

describe.runIf(process.env.TEST_DATABASE_URL)('while the request waits', () => {
  test.each<[string, Record<string, string>]>([
    ['', {}],
    [' with an Idempotency-Key', { 'Idempotency-Key': 'add' }],
  ])('returns 404 for a provider or monitor that is deleted%s', async (_, headers) => {
    const json = { provider_id: providerId };
    const send = () => user.api.post(path, { json, headers });
    const deleteProvider: Work<unknown> = (em) => em.nativeDelete(ProviderEntity, { id: providerId });
    const provider = await sendDuringTransaction(service.database, user.id, deleteProvider, send);
    expect([provider.status, provider.body.detail]).toEqual([404, `Provider ${providerId} was not found.`]);
    json.provider_id = (await createProvider(user)).id;
    const deleteMonitor: Work<unknown> = (em) => em.nativeDelete(MonitorEntity, { id: monitorId });
    const monitor = await sendDuringTransaction(service.database, user.id, deleteMonitor, send);
    expect([monitor.status, monitor.body.detail]).toEqual([404, `Monitor ${monitorId} was not found.`]);
  });
});

test.each([
  [{}, '/provider_id', 'is required'],
  [{ provider_id: null }, '/provider_id', 'must be an integer'],
  [{ provider_id: '3' }, '/provider_id', 'must be an integer'],
  [{ provider_id: 0 }, '/provider_id', 'must be at least 1'],
  [{ provider_id: 1, enabled: 'yes' }, '/enabled', 'must be true or false'],
  [{ provider_id: 1, enabled: '' }, '/enabled', 'must be true or false'],
  [{ provider_id: 1, enabled: null }, '/enabled', 'must be true or false'],
  [{ provider_id: 1, monitor_id: 2 }, '/monitor_id', 'is not a known field'],
])('returns 422 for %j', async (json, pointer, message) => {
  const { status, body } = await add(json);
  expect([status, body.errors]).toEqual([422, [expect.objectContaining({ in: 'body', pointer, message })]]);
});

test('returns 401 without a key and 403 without the scope monitors:write', async () => {
  const json = { provider_id: providerId };
  expect((await service.anonymous.post(path, { json })).status).toBe(401);
  const { status, body } = await (await user.withScopes('monitors:read', 'providers:write')).post(path, { json });
  expect([status, body.detail]).toEqual([403, expect.stringContaining('"monitors:write"')]);
  expect(await assignments()).toEqual([]);
});

test("returns 404 for another user's monitor, as for an unknown id", async () => {
  const other = await service.createUser();
  const json = { provider_id: (await createProvider(other)).id };
  const foreign = await other.api.post(path, { json });
  expect([foreign.status, foreign.body.detail]).toEqual([404, `Monitor ${monitorId} was not found.`]);
  expectSameProblem(foreign, await other.api.post('/api/monitors/999999999/notifications', { json }));
  expect(await assignments()).toEqual([]);
});

test("returns 404 for another user's provider, as for an unknown id", async () => {
  const { id } = await createProvider(await service.createUser());
  const foreign = await add({ provider_id: id });
  expect([foreign.status, foreign.body.detail]).toEqual([404, `Provider ${id} was not found.`]);
  expectSameProblem(foreign, await add({ provider_id: 999_999_999 }));
  expect(await assignments()).toEqual([]);
});
