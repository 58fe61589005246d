import { afterAll, beforeAll, expect } from 'vitest';
import { ApiClient } from '../support/api-client.ts';
import { guarantee } from '../support/guarantee.ts';
import { type AbusedService, startAbusedService } from './support/service.ts';

let service: AbusedService;

beforeAll(async () => {
  service = await startAbusedService({ users: 1 });
});
afterAll(() => service?.remove());

guarantee(12, 'Expired keys are removed and do not count, and no key can use up the quota of its user', async () => {
  const [user] = service.users;
  const owner = service.as(user);
  const withKey = (key: string) => new ApiClient(service.url, { Authorization: `Bearer ${key}` });
  const create = (api: ApiClient, more = {}) => api.post('/api/keys', { json: { name: 'More', scopes: ['monitors:read'], ...more } });
  const { email = '', password = '' } = user ?? {};
  const signedIn = await service.as(undefined).post('/api/session', { json: { email, password } });
  const session = new ApiClient(service.url, { Cookie: signedIn.headers.get('Set-Cookie')?.split(';')[0] ?? '' });

  const readOnly = await create(session);
  const descendants: number[] = [];
  let creator = withKey(readOnly.body.data.key);
  for (let index = 0; index < 12; index++) {
    const { status, body } = await create(creator);
    descendants.push(status);
    if (status === 201 && index < 5) creator = withKey(body.data.key); // First a chain of keys, then many of one key.
    if (status === 409) expect(body.code).toBe('quota_exceeded');
  }
  expect(descendants).toEqual([...Array(10).fill(201), 409, 409]);

  const expires_at = new Date(Date.now() + 8000).toISOString();
  const expiring = await Promise.all(Array.from({ length: 60 }, () => create(session, { expires_at })));
  expect(expiring.map(({ status }) => status)).toEqual(Array(60).fill(201));
  const total = async () => (await owner.get('/api/keys')).body.meta.total;
  expect(await total()).toBe(72);
  // Once they have expired, 88 of 100 are free again.
  await expect
    .poll(async () => (await create(session)).status === 201 && (await total()), { timeout: 40_000, interval: 1000 })
    .toBeLessThan(72);
  let created = 0;
  while ((await create(session)).status === 201) created++;
  expect(await total()).toBe(100);
  return `one read-only key: 10 descendants, then 409; 60 expired keys were removed, and the session then created ${created} more up to 100`;
});
