import { afterAll, beforeAll, expect, test } from 'vitest';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

const monitor = { friendly_name: 'Shop', url: 'https://example.com' };

test.each([
  ['a text', { ...monitor, friendly_name: 'x'.repeat(200_000) }, '/friendly_name', 'max_length'],
  ['a value that begins like an allowed one', { ...monitor, type: `ping${'x'.repeat(5000)}` }, '/type', 'enum'],
  ['a text in place of a number', { ...monitor, interval: `60${' '.repeat(5000)}` }, '/interval', 'type'],
  ['a list in place of a text', { ...monitor, friendly_name: Array(50_000).fill(1) }, '/friendly_name', 'type'],
  [
    'an object in place of a boolean',
    { ...monitor, is_active: Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`field ${n}`, n])) },
    '/is_active',
    'type',
  ],
])('a large body is rejected as a small one is: %s', async (_, json, pointer, code) => {
  const { status, body } = await user.api.post('/api/monitors', { json });
  expect([status, body.errors]).toEqual([422, [expect.objectContaining({ in: 'body', pointer, code })]]);
});

test('a large body is accepted if every part is within its limit', async () => {
  const form = { domain: 'large.example', exclude_params: Array.from({ length: 1000 }, (_, n) => `p${n}-${'x'.repeat(120)}`).join('\n') };
  const { status, body } = await user.api.post('/api/v1/websites', { form });
  expect([status, body.data.exclude_params]).toEqual([201, form.exclude_params]);
});
