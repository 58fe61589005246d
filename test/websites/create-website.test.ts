import { afterAll, beforeAll, expect, test } from 'vitest';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

const create = (form: Record<string, string> | [string, string][] | string) => user.api.post('/api/v1/websites', { form });

test('201 with Location, ETag and the defaults', async () => {
  const { status, headers, body } = await create({ domain: 'defaults.example' });
  expect(status).toBe(201);
  expect(headers.get('Location')).toBe(`/api/v1/websites/${body.data.id}`);
  expect(headers.get('ETag')).toBe('"1"');
  expect(body.data).toMatchObject({
    domain: 'defaults.example',
    privacy: 0,
    has_password: false,
    email: 0,
    exclude_bots: 1,
    exclude_params: '',
    exclude_ips: '',
    favorite: false,
  });
});

test('every setting is stored and shown by the list', async () => {
  const settings = { privacy: 2, email: 1, exclude_bots: 0, exclude_params: 'utm_source\nref', exclude_ips: '192.0.2.7\n2001:db8::/32' };
  const form = {
    domain: 'settings.example',
    password: 'open sesame',
    ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, `${value}`])),
  };
  const { body } = await create(form);
  expect(body.data).toMatchObject({ ...settings, has_password: true });
  const listed = await user.api.get('/api/v1/websites?search=settings.example');
  expect(listed.body.data).toEqual([body.data]);
});

test('the password is stored hashed and never returned', async () => {
  const { text } = await create({ domain: 'secret.example', privacy: '2', password: 'hunter2hunter2' });
  expect(text).not.toContain('hunter2');
  const [row] = await service.database.asUser(user.id, (em) =>
    em.execute("select password_hash from websites where domain = 'secret.example'"),
  );
  expect(row).toMatchObject({ password_hash: expect.stringMatching(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/) });
});

test.each([
  ['https://WWW.Shop.example.com:8443/path?x#y', 'shop.example.com'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['MÜNCHEN.example.', 'xn--mnchen-3ya.example'],
  ['ｆｕｌｌｗｉｄｔｈ.example', 'fullwidth.example'],
  ['soft\u00adhyphen.example', 'softhyphen.example'],
  ['www.com', 'www.com'],
  ['www.www.example', 'www.example'],
])('the domain %s becomes %s', async (given, domain) => {
  expect((await create({ domain: given })).body.data.domain).toBe(domain);
});

test('409 for a domain the user has already, in another spelling', async () => {
  await create({ domain: 'taken.example' });
  const { status, body } = await create({ domain: 'https://www.TAKEN.example/' });
  expect([status, body.code]).toEqual([409, 'domain_taken']);
});

test("another user's domain can be had, and tells nothing", async () => {
  await create({ domain: 'both.example' });
  const other = await service.createUser();
  expect((await other.api.post('/api/v1/websites', { form: { domain: 'both.example' } })).status).toBe(201);
});

test('409 over the quota', async () => {
  const small = await startService({ maxWebsites: 1 });
  try {
    const { api } = await small.createUser();
    expect((await api.post('/api/v1/websites', { form: { domain: 'one.example' } })).status).toBe(201);
    expect((await api.post('/api/v1/websites', { form: { domain: 'two.example' } })).body.code).toBe('quota_exceeded');
  } finally {
    await small.stop();
  }
});

test.each([
  ['missing', {}],
  ['empty', { domain: '' }],
  ['with a blank', { domain: 'exa mple.com' }],
  ['a bare name with a port', { domain: 'example.com:80' }],
  ['a bare name with a path', { domain: 'example.com/x' }],
  ['a URL with a user name', { domain: 'https://me@example.com/' }],
  ['an IPv4 address', { domain: '192.0.2.1' }],
  ['an IPv4 address in hex', { domain: '0xC0000201' }],
  ['an IPv6 address', { domain: 'http://[::1]/' }],
  ['one label', { domain: 'localhost' }],
  ['a label of 64', { domain: `${'a'.repeat(64)}.example` }],
  ['an underscore', { domain: 'a_b.example' }],
  ['a leading hyphen', { domain: '-a.example' }],
  ['254 characters', { domain: `${`${'a'.repeat(49)}.`.repeat(5)}abcd` }],
  ['xn-- that does not decode', { domain: 'xn--0.example' }],
])('422 for a domain that is %s', async (_, form) => {
  const { status, body } = await create(form as Record<string, string>);
  expect(status).toBe(422);
  expect(body.errors).toContainEqual(expect.objectContaining({ in: 'body', pointer: '/domain' }));
});

test.each(['3', '-1', 'public', '1.0', '0x1', ''])('422 for privacy "%s"', async (privacy) => {
  const { status, body } = await create({ domain: 'p.example', privacy });
  expect(status).toBe(422);
  expect(body.errors).toContainEqual(expect.objectContaining({ pointer: '/privacy' }));
});

test('422 for privacy 2 without a password', async () => {
  const { body } = await create({ domain: 'p.example', privacy: '2', password: '' });
  expect(body.errors).toEqual([expect.objectContaining({ pointer: '/password', code: 'password_needed' })]);
});

test('422 names faults of the schema and of our own rules at once', async () => {
  const { body } = await create({ domain: 'localhost', privacy: '3', exclude_ips: 'x', colour: 'red' });
  expect(body.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted()).toEqual([
    '/colour',
    '/domain',
    '/exclude_ips',
    '/privacy',
  ]);
});

test('422 names the bad lines of both lists', async () => {
  const { body } = await create({
    domain: 'l.example',
    exclude_ips: '1.2.3.4\r\n\r\n999.1.1.1\r\nfe80::1%eth0',
    exclude_params: 'ok\na=b',
  });
  expect(body.errors.map(({ pointer, line }: { pointer: string; line: number }) => [pointer, line])).toEqual([
    ['/exclude_params', 2],
    ['/exclude_ips', 3],
    ['/exclude_ips', 4],
  ]);
});

test('line ends become \\n, blank lines and doubles go', async () => {
  const { body } = await create({ domain: 'lines.example', exclude_ips: '10.0.0.0/8\r\n\r\n10.0.0.0/8\n::1\n' });
  expect(body.data.exclude_ips).toBe('10.0.0.0/8\n::1');
});

test('422 for an unknown field, favorite on create among them', async () => {
  const { body } = await create({ domain: 'u.example', favorite: 'true', colour: 'red' });
  expect(body.errors.map(({ pointer, code }: { pointer: string; code: string }) => [pointer, code])).toEqual([
    ['/favorite', 'unknown_field'],
    ['/colour', 'unknown_field'],
  ]);
});

test('422 for a field given twice', async () => {
  const { body } = await create('domain=a.example&domain=a.example');
  expect(body.errors).toEqual([expect.objectContaining({ pointer: '/domain', code: 'repeated' })]);
});

test('422 for an empty body', async () => {
  const { status, body } = await user.api.post('/api/v1/websites', { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } });
  expect([status, body.errors[0].pointer]).toEqual([422, '/domain']);
});

test('400 for a form that is not UTF-8', async () => {
  const { status, body } = await user.api.post('/api/v1/websites', {
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    raw: 'domain=%FF.example',
  });
  expect([status, body.code]).toEqual([400, 'malformed_encoding']);
});

test('415 for JSON', async () => {
  const { status, body } = await user.api.post('/api/v1/websites', { json: { domain: 'j.example' } });
  expect([status, body.code]).toEqual([415, 'unsupported_media_type']);
});

test('401 without a key, and nothing is created', async () => {
  expect((await service.stranger.post('/api/v1/websites', { form: { domain: 'stranger.example' } })).status).toBe(401);
  expect((await user.api.get('/api/v1/websites?search=stranger')).body.meta.total).toBe(0);
});

test('403 without the scope websites:write', async () => {
  const reader = await user.withScopes('websites:read');
  expect((await reader.post('/api/v1/websites', { form: { domain: 'reader.example' } })).body.code).toBe('missing_scope');
});
