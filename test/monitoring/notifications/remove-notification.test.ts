import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
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
  await user.api.post(path, { json: { provider_id: providerId } });
});
afterAll(() => service.stop());

const assignments = async () => (await user.api.get(path)).body.data;

test.each([
  ['the body', () => user.api.delete(path, { json: { provider_id: providerId } })],
  ['the query', () => user.api.delete(`${path}?provider_id=${providerId}`)],
  ['both', () => user.api.delete(`${path}?provider_id=${providerId}`, { json: { provider_id: providerId } })],
])('accepts the provider in %s and keeps the provider itself', async (_, remove) => {
  const { status, body } = await remove();
  expect([status, body]).toEqual([200, { monitor_id: monitorId, provider_id: providerId, object: 'notification', deleted: true }]);
  expect(await assignments()).toEqual([]);
  expect((await user.api.get(`/api/providers/${providerId}`)).status).toBe(200);
});

test('keeps the other providers of the monitor, and the provider on other monitors', async () => {
  const [monitor, provider] = [await createMonitor(user), await createProvider(user)];
  await user.api.post(path, { json: { provider_id: provider.id } });
  await user.api.post(`${monitor.path}/notifications`, { json: { provider_id: providerId } });
  await user.api.delete(path, { json: { provider_id: providerId } });
  expect(await assignments()).toEqual([expect.objectContaining({ provider_id: provider.id })]);
  expect((await user.api.get(`${monitor.path}/notifications`)).body.data).toEqual([expect.objectContaining({ provider_id: providerId })]);
});

test('returns 422 without a provider', async () => {
  const { status, body } = await user.api.delete(path);
  expect([status, body.errors]).toEqual([
    422,
    [{ in: 'body', pointer: '/provider_id', code: 'required', message: 'is required, in the body or in the query' }],
  ]);
  expect(await assignments()).toHaveLength(1);
});

test('returns 422 for different providers in the body and in the query', async () => {
  const { status, body } = await user.api.delete(`${path}?provider_id=${providerId + 1}`, { json: { provider_id: providerId } });
  expect([status, body.errors]).toEqual([
    422,
    [{ in: 'query', name: 'provider_id', code: 'contradiction', message: 'must equal provider_id in the body' }],
  ]);
  expect(await assignments()).toHaveLength(1);
});

test.each([
  [422, 'an invalid id in the query', () => user.api.delete(`${path}?provider_id=x`)],
  [422, 'an empty object', () => user.api.delete(path, { json: {} })],
  [422, 'null', () => user.api.delete(path, { json: { provider_id: null } })],
  [400, 'invalid JSON', () => user.api.delete(path, { headers: { 'Content-Type': 'application/json' }, raw: '{' })],
  [415, 'another media type', () => user.api.delete(path, { headers: { 'Content-Type': 'text/plain' }, raw: '{}' })],
])('returns %i for %s', async (status, _, remove) => {
  expect((await remove()).status).toBe(status);
  expect(await assignments()).toHaveLength(1);
});

test('returns 404 for a provider that is not assigned', async () => {
  const { status, body } = await user.api.delete(`${path}?provider_id=999999999`);
  expect([status, body.detail]).toEqual([404, `Provider 999999999 is not assigned to monitor ${monitorId}.`]);
  expect(await assignments()).toHaveLength(1);
});

test('returns 401 without a key and 403 without the scope monitors:write', async () => {
  const json = { provider_id: providerId };
  expect((await service.anonymous.delete(path, { json })).status).toBe(401);
  const { status, body } = await (await user.withScopes('monitors:read', 'providers:write')).delete(path, { json });
  expect([status, body.detail]).toEqual([403, expect.stringContaining('"monitors:write"')]);
  expect(await assignments()).toHaveLength(1);
});

test("returns 404 for another user's monitor, as for an unknown id", async () => {
  const other = await service.createUser();
  const json = { provider_id: providerId };
  const foreign = await other.api.delete(path, { json });
  expect([foreign.status, foreign.body.detail]).toEqual([404, `Monitor ${monitorId} was not found.`]);
  expectSameProblem(foreign, await other.api.delete('/api/monitors/999999999/notifications', { json }));
  expect(await assignments()).toHaveLength(1);
});
