import { pino } from 'pino';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { plainError } from '../../src/telemetry/log.ts';
import { createDatabase } from '../support/database.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;
/** Every query of the service fails with this error while it is set. */
let failure: Error | undefined;
/** The log of errors. */
const lines: string[] = [];

beforeAll(async () => {
  const database = await createDatabase();
  const query = database.query.bind(database);
  database.query = (userId) => (failure ? () => Promise.reject(failure) : query(userId));
  service = await startService({}, { database, log: pino({ level: 'error' }, { write: (line: string) => lines.push(line) }) });
  user = await service.createUser();
});
afterAll(async () => {
  await service.stop();
  await service.database.close();
});

test('returns 500 for an unexpected error, without details, which are in the log with the id of the request', async () => {
  failure = new Error('the password of the database is hunter2');
  const { status, body, text } = await user.api.get('/api/monitors');
  failure = undefined;
  expect([status, body.code, body.title]).toEqual([500, 'internal_error', 'Internal server error']);
  expect(body.detail).toBe('An unexpected error occurred. If it happens again, report the request_id to the operator.');
  expect(text).not.toContain('hunter2');
  expect(JSON.parse(lines.at(-1) ?? '{}')).toMatchObject({
    request_id: body.request_id,
    err: { message: expect.stringContaining('hunter2') },
  });
});

test('the log contains the error of a statement, but none of its values', async () => {
  const failing = service.database.asUser(user.id, (em) =>
    em.execute('insert into websites (user_id, domain, exclude_ips) values (?, null, ?)', [user.id, 'hunter2']),
  );
  const error: Error = await failing.then(
    () => new Error('The statement succeeded.'),
    (thrown) => thrown,
  );
  const logged = plainError(error);
  expect(logged).toMatchObject({ code: '23502', message: expect.stringContaining('"domain"') });
  expect(JSON.stringify(logged)).not.toContain('hunter2');
});

test('returns 503 with Retry-After while the database is unavailable, and /readyz fails', async () => {
  const unavailable = await startService();
  onTestFinished(() => unavailable.stop());
  const { api } = await unavailable.createUser();
  await unavailable.database.close();
  const { status, headers, body } = await api.get('/api/monitors');
  expect([status, body.code, headers.get('Retry-After')]).toEqual([503, 'unavailable', '2']);
  expect(body.detail).toBe('The database is unavailable. Retry in 2 seconds.');
  expect((await unavailable.anonymous.get('/readyz')).status).toBe(503);
  expect((await unavailable.anonymous.get('/healthz')).status).toBe(200);
});
