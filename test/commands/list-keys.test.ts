import { afterAll, beforeAll, expect, test } from 'vitest';
import { commands } from '../../src/commands/registry.ts';
import { startService, type TestService } from '../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

function list(input: { after: number; user?: string }) {
  const { database } = service;
  const context = { database, secretKeys: [], config: { dataDirectory: '' }, inService: true, progress: () => {} };
  return commands['key list']({ ...context, signal: AbortSignal.timeout(60_000) }, input);
}

test('lists the keys of all users or of one, after an id, without their secrets', async () => {
  const [one, other] = [await service.createUser(), await service.createUser()];
  const { body } = await one.api.post('/api/keys', { json: { name: 'Second', scopes: ['monitors:read'] } });
  const all = await list({ after: 0 });
  expect(all.map(({ user }) => user)).toEqual([one.email, other.email, one.email]);
  const own = await list({ after: 0, user: one.email });
  expect(own).toEqual([all[0], all[2]]);
  expect(await list({ after: all[0]?.id ?? 0, user: one.email })).toEqual([all[2]]);
  expect(own[1]).toMatchObject({ name: 'Second', scopes: ['monitors:read'], prefix: body.data.key.slice(0, 9), created_by: own[0]?.id });
  expect(JSON.stringify(all)).not.toContain(body.data.key);
});
