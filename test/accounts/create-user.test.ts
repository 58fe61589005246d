import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startService, type TestService } from '../support/service.ts';
import { password } from '../support/valid-requests.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

test('returns 403 while sign-up is closed', async () => {
  const { status, body } = await service.anonymous.post('/api/users', { json: { email: 'new@example.com', password } });
  expect([status, body.code]).toEqual([403, 'signup_closed']);
  expect(body.detail).toBe('Sign-up is closed. Ask the operator of this service for an account.');
});

describe('while sign-up is open', () => {
  let open: TestService;

  beforeAll(async () => {
    open = await startService({ signupOpen: true }, { database: service.database });
  });
  afterAll(() => open.stop());

  const createUser = (json: object, headers: Record<string, string> = {}) => open.anonymous.post('/api/users', { json, headers });

  test('returns 201 and starts no session; the new user can sign in', async () => {
    const { status, body, headers } = await createUser({ email: 'New@example.com', password });
    expect([status, body.data.email, headers.get('Set-Cookie')]).toEqual([201, 'New@example.com', null]);
    const signedIn = await open.anonymous.post('/api/session', { json: { email: 'new@example.com', password } });
    expect([signedIn.status, signedIn.body.data.user.id]).toEqual([201, body.data.id]);
  });

  test('returns 409 for an address that is taken, whatever its case', async () => {
    await createUser({ email: 'Taken@example.com', password });
    const { status, body } = await createUser({ email: 'taken@EXAMPLE.com', password });
    expect([status, body.code]).toEqual([409, 'email_taken']);
    expect(body.detail).toBe('An account with this e-mail address already exists.');
  });

  test.each([
    ['a short password', { email: 'b@example.com', password: 'short' }, '/password', 'must have at least 8 characters'],
    [
      'a password of 129 characters',
      { email: 'b@example.com', password: 'x'.repeat(129) },
      '/password',
      'must have at most 128 characters',
    ],
    ['an invalid e-mail address', { email: 'b', password }, '/email', 'must be an e-mail address'],
  ])('returns 422 for %s', async (_, json, pointer, message) => {
    const { status, body } = await createUser(json);
    expect([status, body.errors]).toEqual([422, [expect.objectContaining({ in: 'body', pointer, message })]]);
  });

  test('returns 403 for a request from another site', async () => {
    const { status, body } = await createUser({ email: 'c@example.com', password }, { 'Sec-Fetch-Site': 'cross-site' });
    expect([status, body.code]).toEqual([403, 'cross_origin']);
  });
});
