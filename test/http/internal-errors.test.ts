import { afterAll, beforeAll, expect, test } from 'vitest';
import { plainError } from '../../src/telemetry/log.ts';
import { createDatabase } from '../support/database.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;
let broken: Error | undefined;

beforeAll(async () => {
  const database = await createDatabase();
  const query = database.query.bind(database);
  database.query = (userId) => (broken ? () => Promise.reject(broken) : query(userId));
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

test('the log says what was wrong with a statement, and none of its values', async () => {
  const failing = service.database.asUser(user.id, (em) =>
    em.execute('insert into websites (user_id, domain, exclude_ips) values (?, null, ?)', [user.id, 'hunter2']),
  );
  const error: Error = await failing.then(
    () => new Error('it was accepted'),
    (thrown) => thrown,
  );
  const logged = plainError(error);
  expect(logged).toMatchObject({ code: '23502', message: expect.stringContaining('"domain"') });
  expect(JSON.stringify(logged)).not.toContain('hunter2');
});

test('503 with Retry-After while the database is away, and readyz says so', async () => {
  await service.database.close();
  const { status, headers, body } = await user.api.get('/api/monitors');
  expect([status, body.code, headers.get('Retry-After')]).toEqual([503, 'unavailable', '2']);
  expect((await service.stranger.get('/readyz')).status).toBe(503);
  expect((await service.stranger.get('/healthz')).status).toBe(200);
});
