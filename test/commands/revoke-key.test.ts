import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateKey } from '../../src/auth/api-key.ts';
import { commands } from '../../src/commands/registry.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

function revoke(key: string) {
  const { database } = service;
  const context = { database, secretKeys: [], config: { dataDirectory: '' }, inService: true, progress: () => {} };
  return commands['key revoke']({ ...context, signal: AbortSignal.timeout(60_000) }, { key });
}

const createKey = async (name: string): Promise<{ id: number; prefix: string }> =>
  (await user.api.post('/api/keys', { json: { name, scopes: ['monitors:read'] } })).body.data;
const listIds = async () => (await user.api.get('/api/keys')).body.data.map(({ id }: { id: number }) => id);

test('a prefix that several keys have revokes none of them', async () => {
  const [one, other] = [await createKey('One'), await createKey('Other')];
  await service.database.asUser(user.id, (em) =>
    em.execute(`update api_keys set prefix = 'stkp_same' where id in (?, ?)`, [one.id, other.id]),
  );
  await expect(revoke('stkp_same')).rejects.toThrow(
    `2 keys have the prefix stkp_same. Revoke one by its id: ${one.id} (${user.email}), ${other.id} (${user.email}).`,
  );
  expect(await listIds()).toEqual(expect.arrayContaining([one.id, other.id]));
  expect(await revoke(String(one.id))).toMatchObject({ id: one.id, revoked: 1 });
  expect(await revoke('stkp_same')).toMatchObject({ id: other.id, revoked: 1 });
});

test('the message about an unknown key does not contain the key', async () => {
  const key = generateKey();
  await expect(revoke(key)).rejects.toThrow(`There is no key that begins with ${key.slice(0, 9)} and equals the given one.`);
  await expect(revoke(key)).rejects.not.toThrow(key.slice(9));
});
