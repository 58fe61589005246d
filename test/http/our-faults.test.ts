import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDatabase } from '../support/database.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;
let broken: Error | undefined;

beforeAll(async () => {
  const database = await createDatabase();
  const ask = database.ask.bind(database);
  database.ask = (userId) => (broken ? () => Promise.reject(broken) : ask(userId));
  service = await startService({}, { database });
  user = await service.createUser();
});
afterAll(async () => {
  await service.stop();
  await service.database.close();
});

test('500 for a fault of ours, without a word about what it was', async () => {
  broken = new Error('password of the database is hunter2');
  const { status, body, text } = await user.api.get('/api/monitors');
  broken = undefined;
  expect([status, body.code]).toEqual([500, 'internal_error']);
  expect(text).not.toContain('hunter2');
});

test('503 with Retry-After while the database is away, and readyz says so', async () => {
  await service.database.close();
  const { status, headers, body } = await user.api.get('/api/monitors');
  expect([status, body.code, headers.get('Retry-After')]).toEqual([503, 'unavailable', '2']);
  expect((await service.stranger.get('/readyz')).status).toBe(503);
  expect((await service.stranger.get('/healthz')).status).toBe(200);
});
