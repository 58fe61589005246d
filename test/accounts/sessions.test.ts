import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { ApiClient } from '../support/api-client.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

const password = 'correct horse battery';
let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser(password);
});
afterAll(() => service.stop());

async function signIn(account = user, headers: Record<string, string> = {}): Promise<{ cookie: string; api: ApiClient }> {
  const { status, headers: answer } = await service.stranger.post('/api/session', { json: { email: account.email, password }, headers });
  expect(status).toBe(201);
  const cookie = (answer.get('Set-Cookie') ?? '').split(';')[0] ?? '';
  return { cookie, api: new ApiClient(service.url, { Cookie: cookie }) };
}

test('createSession: 201 with a cookie that scripts cannot read, and who is signed in', async () => {
  const { body, headers } = await service.stranger.post('/api/session', { json: { email: user.email.toUpperCase(), password } });
  expect(body.data.user).toEqual({ id: user.id, email: user.email });
  expect(headers.get('Set-Cookie')).toMatch(/^sitekeeper_session=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/);
  expect(Date.parse(body.data.expires_at) - Date.parse(body.data.created_at)).toBe(7 * 24 * 3600 * 1000);
});

test('over https the cookie is Secure and bound to the host', async () => {
  const secure = await startService({}, { database: service.database, publicUrl: 'https://sitekeeper.example.com' });
  try {
    const account = await secure.createUser(password);
    const { headers } = await secure.stranger.post('/api/session', { json: { email: account.email, password } });
    expect(headers.get('Set-Cookie')).toMatch(
      /^__Host-sitekeeper_session=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    );
  } finally {
    await secure.stop();
  }
});

test('only a hash of the cookie and of the password is stored', async () => {
  const { cookie } = await signIn();
  const rows = await service.database.asUser(user.id, (em) =>
    em.execute('select row_to_json(s)::text || (select row_to_json(u)::text from users u) as row from sessions s'),
  );
  expect(JSON.stringify(rows)).not.toContain(cookie.split('=')[1]);
  expect(JSON.stringify(rows)).not.toContain(password);
  expect(JSON.stringify(rows)).toContain('$argon2id$');
});

test('a session carries every scope, on both APIs, and manages every key of the user', async () => {
  const { api } = await signIn();
  expect((await api.get('/api/session')).body.data.user.email).toBe(user.email);
  expect((await api.get('/api/monitors')).status).toBe(200);
  expect((await api.post('/api/v1/websites', { form: { domain: 'mine.example' } })).status).toBe(201);
  const [key] = (await api.get('/api/keys')).body.data;
  expect((await api.delete(`/api/keys/${key.id}`)).status).toBe(200);
});

test('deleteSession: 200, the cookie is cleared, and the session is over', async () => {
  const { api } = await signIn();
  const { body, headers } = await api.delete('/api/session');
  expect(body).toEqual({ object: 'session', deleted: true });
  expect(headers.get('Set-Cookie')).toMatch(/^sitekeeper_session=; Max-Age=0;/);
  expect((await api.get('/api/session')).body.code).toBe('invalid_session');
});

test('a session ends after 7 days without use and after 30 days in all', async () => {
  for (const column of ["last_used_at = now() - interval '7 days 1 minute'", "created_at = now() - interval '30 days 1 minute'"]) {
    const { api } = await signIn();
    await service.database.asUser(user.id, (em) => em.execute(`update sessions set ${column}`, [], 'run'));
    expect((await api.get('/api/session')).body.code).toBe('invalid_session');
    await service.database.asUser(user.id, (em) => em.execute('delete from sessions', [], 'run'));
  }
});

test('401 for a wrong password, an unknown account and an account without a password, in the same words', async () => {
  const keyless = await service.createUser();
  const bodies = [];
  for (const json of [
    { email: user.email, password: 'wrong password' },
    { email: 'nobody@example.com', password },
    { email: keyless.email, password },
  ]) {
    const { status, text } = await service.stranger.post('/api/session', { json, headers: { 'X-Request-Id': 'same' } });
    bodies.push([status, text]);
  }
  expect(new Set(bodies.map(String)).size).toBe(1);
  expect(bodies[0]?.[0]).toBe(401);
});

test('an unknown account takes as long as a wrong password', async () => {
  const took = async (email: string) => {
    const start = performance.now();
    await service.stranger.post('/api/session', { json: { email, password: 'wrong password' } });
    return performance.now() - start;
  };
  const other = await service.createUser(password);
  for (let call = 0; call < 5; call++) await took(other.email);
  // The quickest of each, in turn: what else the machine does makes some of them slower, and none quicker.
  const [wrong, unknown]: [number[], number[]] = [[], []];
  for (let call = 0; call < 5; call++) {
    wrong.push(await took(user.email));
    unknown.push(await took(`unknown${call}@example.com`));
  }
  // A skipped hash would make it four times quicker and more.
  expect(Math.min(...unknown)).toBeGreaterThan(Math.min(...wrong) / 2);
});

test('after 5 failures in 15 minutes the account is shut for that address, even for the right password', async () => {
  const trusting = await startService({ trustedProxies: ['loopback'] }, { database: service.database });
  const from = (word: string, address: string) =>
    new ApiClient(trusting.url, { 'X-Forwarded-For': address }).post('/api/session', { json: { email: user.email, password: word } });
  for (let failure = 0; failure < 5; failure++) expect((await from('wrong password', '192.0.2.1')).status).toBe(401);
  const refused = await from(password, '192.0.2.1');
  expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
  expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(800);
  expect((await from(password, '192.0.2.2')).status).toBe(201);
  await trusting.stop();
});

test('many attempts at once do not slip through together, and successes do not count', async () => {
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => service.stranger.post('/api/session', { json: { email: user.email, password: 'wrong password' } })),
  );
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(5);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(7);
  const other = await service.createUser(password);
  for (let call = 0; call < 8; call++) await signIn(other);
});

test('changePassword: 200, the other sessions end, this one stays', async () => {
  const [one, other] = [await signIn(), await signIn()];
  const { status } = await one.api.put('/api/session/password', { json: { current: password, new: 'another password' } });
  expect(status).toBe(200);
  expect((await one.api.get('/api/session')).status).toBe(200);
  expect((await other.api.get('/api/session')).status).toBe(401);
  expect((await service.stranger.post('/api/session', { json: { email: user.email, password } })).status).toBe(401);
  expect((await service.stranger.post('/api/session', { json: { email: user.email, password: 'another password' } })).status).toBe(201);
});

test('changePassword: 422 for a wrong current password, and nothing changes', async () => {
  const { api } = await signIn();
  const { status, body } = await api.put('/api/session/password', { json: { current: 'wrong password', new: 'another password' } });
  expect([status, body.errors]).toEqual([422, [expect.objectContaining({ pointer: '/current', code: 'wrong_password' })]]);
  await signIn();
});

test.each([
  [{ Origin: 'https://evil.example.com' }, 403],
  [{ Origin: 'null' }, 403],
  [{ 'Sec-Fetch-Site': 'cross-site' }, 403],
  [{ 'Sec-Fetch-Site': 'same-site' }, 403],
  [{ 'Sec-Fetch-Site': 'same-origin', Origin: 'https://evil.example.com' }, 201],
  [{ 'Sec-Fetch-Site': 'none' }, 201],
  [{}, 201],
])('a request with a cookie that changes something, sent with %o, is %i', async (headers, expected) => {
  const { api } = await signIn();
  const answer = await api.post('/api/v1/websites', {
    form: { domain: `site${Math.random()}.example` },
    headers: headers as Record<string, string>,
  });
  expect(answer.status).toBe(expected);
  if (expected === 403) expect(answer.body.code).toBe('cross_origin');
});

test('the own origin passes without Sec-Fetch-Site; reading passes from anywhere; a key needs no origin', async () => {
  const { api } = await signIn();
  expect((await api.post('/api/v1/websites', { form: { domain: 'own.example' }, headers: { Origin: service.url } })).status).toBe(201);
  expect((await api.get('/api/monitors', { headers: { Origin: 'https://evil.example.com' } })).status).toBe(200);
  expect(
    (await user.api.post('/api/v1/websites', { form: { domain: 'key.example' }, headers: { Origin: 'https://app.example.com' } })).status,
  ).toBe(201);
});

test('signing in from another origin is 403', async () => {
  const { status, body } = await service.stranger.post('/api/session', {
    json: { email: user.email, password },
    headers: { Origin: 'https://evil.example.com' },
  });
  expect([status, body.code]).toEqual([403, 'cross_origin']);
});

test('a bad key beside a good cookie is 401; a good key beside it counts, with its own scopes', async () => {
  const { cookie } = await signIn();
  const both = (authorization: string) => new ApiClient(service.url, { Cookie: cookie, Authorization: authorization });
  expect((await both('Bearer nonsense').get('/api/monitors')).body.code).toBe('invalid_key');
  const created = await user.api.post('/api/keys', { json: { name: 'weak', scopes: ['providers:read'] } });
  expect((await both(`Bearer ${created.body.data.key}`).get('/api/monitors')).body.code).toBe('missing_scope');
});

test('401 for a made-up cookie, and for a key on the session itself', async () => {
  expect((await new ApiClient(service.url, { Cookie: 'sitekeeper_session=made-up' }).get('/api/monitors')).body.code).toBe(
    'invalid_session',
  );
  expect((await user.api.get('/api/session')).status).toBe(401);
  expect((await user.api.delete('/api/session')).status).toBe(401);
  expect((await service.stranger.put('/api/session/password', { json: { current: password, new: 'another password' } })).status).toBe(401);
});

test.each([
  ['no password', { email: 'a@example.com' }],
  ['no address', { password }],
  ['an address that is none', { email: 'a', password }],
  ['an unknown field', { email: 'a@example.com', password, remember: true }],
])('createSession: 422 for %s', async (_, json) => {
  expect((await service.stranger.post('/api/session', { json })).status).toBe(422);
});

test('createUser: 403 while sign-up is closed', async () => {
  const { status, body } = await service.stranger.post('/api/users', { json: { email: 'new@example.com', password } });
  expect([status, body.code]).toEqual([403, 'signup_closed']);
});

test('createUser: 201 where it is open, then signing in works; 409 for an address that is taken, in any case', async () => {
  const open = await startService({ signupOpen: true }, { database: service.database });
  try {
    const { status, body, headers } = await open.stranger.post('/api/users', { json: { email: 'New@example.com', password } });
    expect([status, body.data.email, headers.get('Set-Cookie')]).toEqual([201, 'New@example.com', null]);
    expect((await open.stranger.post('/api/users', { json: { email: 'new@EXAMPLE.com', password } })).body.code).toBe('email_taken');
    expect((await open.stranger.post('/api/session', { json: { email: 'new@example.com', password } })).status).toBe(201);
    for (const json of [
      { email: 'b@example.com', password: 'short' },
      { email: 'b@example.com', password: 'x'.repeat(129) },
      { email: 'b', password },
    ]) {
      expect((await open.stranger.post('/api/users', { json })).status).toBe(422);
    }
    expect(
      (await open.stranger.post('/api/users', { json: { email: 'c@example.com', password }, headers: { 'Sec-Fetch-Site': 'cross-site' } }))
        .status,
    ).toBe(403);
  } finally {
    await open.stop();
  }
});
