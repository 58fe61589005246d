import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Authenticator } from '../../src/auth/authenticator.ts';
import { newSessionToken } from '../../src/auth/session.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { password, signIn } from '../support/valid-requests.ts';

const day = 24 * 3600 * 1000;
let service: TestService;
let user: TestUser;
let cookie: { Cookie: string };

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser(password);
  cookie = await signIn(service, user.email);
});
afterAll(() => service.stop());

/** Returns whether the session is accepted after this time. */
async function isValidAfter(ms: number): Promise<boolean> {
  const authenticator = await Authenticator.create(service.database, pino({ level: 'silent' }), () => service.database.now() + ms);
  const credentials = { authorization: [], sessionToken: cookie.Cookie.split('=')[1] };
  return authenticator.authenticate(credentials, { acceptsKeys: true }).then(
    () => true,
    ({ code }: { code: string }) => {
      expect(code).toBe('invalid_session');
      return false;
    },
  );
}

function setTimes(created: string, lastUsed: string) {
  return service.database.asUser(user.id, (em) =>
    em.execute(
      'update sessions set created_at = app_now() - ?::interval, last_used_at = app_now() - ?::interval',
      [created, lastUsed],
      'run',
    ),
  );
}

test('a session that is not used expires after 7 days', async () => {
  await setTimes('10 days', '0');
  // The use on the sixth day would extend the session, so the later time comes first.
  expect(await isValidAfter(7 * day + 1000)).toBe(false);
  expect(await isValidAfter(7 * day - 60_000)).toBe(true);
});

test('a session expires after 30 days, even if it is used', async () => {
  await setTimes('29 days 23 hours', '0');
  expect(await isValidAfter(3_660_000)).toBe(false);
  expect(await isValidAfter(3_500_000)).toBe(true);
});

test('using a session stores when it was last used, so that it does not expire', async () => {
  await setTimes('10 days', '6 days');
  expect((await service.anonymous.get('/api/monitors', { headers: cookie })).status).toBe(200);
  const isRecent = async () =>
    (
      await service.database.asUser(user.id, (em) =>
        em.execute(`select last_used_at > app_now() - interval '1 hour' as recent from sessions`),
      )
    )[0];
  await expect.poll(isRecent, { timeout: 10_000 }).toEqual({ recent: true });
});

test('a token has 256 random bits', () => {
  const tokens = Array.from({ length: 100 }, newSessionToken);
  expect(new Set(tokens).size).toBe(100);
  for (const token of tokens) expect(Buffer.from(token, 'base64url')).toHaveLength(32);
});
