import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { etag } from '../support/etags.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

const create = (form: Record<string, string> | [string, string][] | string, headers = {}) =>
  user.api.post('/api/v1/websites', { form, headers });
const pointers = (body: { errors: { pointer: string }[] }) => [...new Set(body.errors.map(({ pointer }) => pointer))].toSorted();

let domainCount = 0;
const uniqueDomain = () => `unique-${++domainCount}.example`;

describe('success', () => {
  test('returns 201 with Location, ETag and the default settings', async () => {
    const { status, headers, body } = await create({ domain: 'defaults.example' });
    expect(status).toBe(201);
    expect(headers.get('Location')).toBe(`/api/v1/websites/${body.data.id}`);
    expect(headers.get('ETag')).toEqual(etag('website', body.data.id, 1));
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
    expect(body.data.updated_at).toBe(body.data.created_at);
  });

  test('below a path of PUBLIC_URL, Location has that path', async () => {
    const below = await startService({}, { database: service.database, publicUrl: 'https://example.com/inner' });
    const created = await user.api.post('/api/keys', { json: { name: 'Below', scopes: ['websites:write'] } });
    const response = await fetch(`${below.url}/api/v1/websites`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${created.body.data.key}` },
      body: new URLSearchParams({ domain: 'below-a-path.example' }),
    });
    expect(response.headers.get('Location')).toMatch(/^\/inner\/api\/v1\/websites\/\d+$/);
    await below.stop();
  });

  test('the URL in Location returns the same body and ETag', async () => {
    const created = await create({ domain: uniqueDomain() });
    const shown = await user.api.get(created.headers.get('Location') ?? '');
    expect(shown.text).toBe(created.text);
    expect(shown.headers.get('ETag')).toBe(created.headers.get('ETag'));
  });

  test('assigns increasing ids', async () => {
    const [first, second] = [await create({ domain: uniqueDomain() }), await create({ domain: uniqueDomain() })];
    expect(second.body.data.id).toBeGreaterThan(first.body.data.id);
  });

  test('stores and returns every setting except the password', async () => {
    const settings = { privacy: 2, email: 1, exclude_bots: 0, exclude_params: 'utm_source\nref', exclude_ips: '192.0.2.7\n2001:db8::/32' };
    const form = {
      domain: 'settings.example',
      password: 'open sesame',
      ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, `${value}`])),
    };
    const { body } = await create(form);
    expect(body.data).toEqual({
      id: expect.any(Number),
      domain: 'settings.example',
      ...settings,
      has_password: true,
      favorite: false,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: body.data.created_at,
    });
    const listed = await user.api.get('/api/v1/websites?search=settings.example');
    expect(listed.body.data).toEqual([{ ...body.data, omitted_fields: [] }]);
  });

  test('stores the password as a hash and never returns it', async () => {
    const { text } = await create({ domain: 'secret.example', privacy: '2', password: 'hunter2hunter2' });
    expect(text).not.toContain('hunter2');
    const [row] = await service.database.asUser(user.id, (em) =>
      em.execute("select password_hash from websites where domain = 'secret.example'"),
    );
    expect(row).toMatchObject({ password_hash: expect.stringMatching(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/) });
  });
});

// domain.test.ts covers every spelling. These cases show that the operation uses its rules.
describe('domain', () => {
  test.each([
    ['https://WWW.Shop.example.com:8443/path?x#y', 'shop.example.com'],
    ['MÜNCHEN.example.', 'xn--mnchen-3ya.example'],
    ['ｓｏｆｔ\u00adhyphen.example', 'softhyphen.example'],
    [`${`${'a'.repeat(49)}.`.repeat(5)}abc`, `${`${'a'.repeat(49)}.`.repeat(5)}abc`],
  ])('stores the normal form of %s', async (given, domain) => {
    expect((await create({ domain: given })).body.data.domain).toBe(domain);
  });

  test.each([
    ['a space', 'exa mple.com', 'must not contain spaces'],
    ['a port', 'example.com:80', 'must be a domain name or an http(s) URL; a bare name cannot have a port or a path'],
    ['a user name', 'https://me@example.com/', 'must not contain a user name or password'],
    ['an IP address', '192.0.2.1', 'must be a domain name, not an IP address'],
    ['a single label', 'localhost', 'must be a full domain name, such as example.com'],
    [
      'an underscore',
      'a_b.example',
      'must consist of labels separated by dots; each label has 1 to 63 letters, digits or hyphens and does not start or end with a hyphen',
    ],
    ['an encoded label that cannot be decoded', 'xn--0.example', 'must not contain an encoded label (xn--…) that cannot be decoded'],
    ['254 characters', `${`${'a'.repeat(49)}.`.repeat(5)}abcd`, 'must have at most 253 characters'],
  ])('returns 422 for %s', async (_, domain, message) => {
    const { status, body } = await create({ domain });
    expect([status, body.errors]).toEqual([422, [{ in: 'body', pointer: '/domain', code: 'invalid_domain', message }]]);
  });

  test.each([
    ['an empty value', ''],
    ['2,049 characters', `https://example.com/${'a'.repeat(2029)}`],
  ])('returns 422 for %s', async (_, domain) => {
    const { status, body } = await create({ domain });
    expect([status, pointers(body)]).toEqual([422, ['/domain']]);
  });

  test('returns 422 if the domain or the whole body is absent', async () => {
    expect((await create({ privacy: '1' })).body.errors).toEqual([
      { in: 'body', pointer: '/domain', code: 'required', message: 'is required' },
    ]);
    const empty = await user.api.post('/api/v1/websites', { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } });
    expect([empty.status, pointers(empty.body)]).toEqual([422, ['/domain']]);
    const absent = await user.api.post('/api/v1/websites');
    expect([absent.status, pointers(absent.body)]).toEqual([422, ['/domain']]);
  });

  test.each([
    ['taken.example', 'https://www.TAKEN.example/'],
    ['gr\u00fcn.example', 'XN--GRN-IOA.example'],
    ['fu\u0308r.example', 'f\u00fcr.example'],
  ])('returns 409 if the user already has %s in another spelling', async (first, second) => {
    const { domain } = (await create({ domain: first })).body.data;
    const { status, body } = await create({ domain: second });
    expect([status, body.code, body.detail]).toEqual([409, 'domain_taken', `You already have a website for the domain "${domain}".`]);
  });

  test("accepts a domain that another user has, so that nothing is revealed about other users' websites", async () => {
    await create({ domain: 'both.example' });
    const other = await service.createUser();
    expect((await other.api.post('/api/v1/websites', { form: { domain: 'both.example' } })).status).toBe(201);
  });

  test('100 concurrent requests for one domain create one website and get 409 otherwise', async () => {
    const statuses = await Promise.all(Array.from({ length: 100 }, async () => (await create({ domain: 'race.example' })).status));
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(statuses.filter((status) => status === 409)).toHaveLength(99);
    expect((await user.api.get('/api/v1/websites?search=race.example')).body.meta.total).toBe(1);
  });
});

describe('privacy and password', () => {
  test.each(['3', '-1', 'public', '1.0', '0x1', '01', ' 1', ''])('returns 422 for privacy "%s"', async (privacy) => {
    const { status, body } = await create({ domain: 'p.example', privacy });
    expect([status, pointers(body)]).toEqual([422, ['/privacy']]);
  });

  test.each(['0', '1'])('stores a password that is sent with privacy %s', async (privacy) => {
    const { body } = await create({ domain: uniqueDomain(), privacy, password: 'later' });
    expect(body.data).toMatchObject({ privacy: Number(privacy), has_password: true });
  });

  test.each([
    ['absent', {}],
    ['empty', { password: '' }],
  ])('returns 422 if privacy is 2 and the password is %s', async (_, form) => {
    const { body } = await create({ domain: 'p.example', privacy: '2', ...form });
    expect(body.errors).toEqual([{ in: 'body', pointer: '/password', code: 'password_needed', message: 'is required while privacy is 2' }]);
  });

  test('accepts passwords of 1 to 128 characters and returns a single error for 129', async () => {
    expect((await create({ domain: uniqueDomain(), privacy: '2', password: 'x' })).status).toBe(201);
    expect((await create({ domain: uniqueDomain(), privacy: '2', password: 'ü'.repeat(128) })).status).toBe(201);
    const { body } = await create({ domain: 'p.example', privacy: '2', password: 'x'.repeat(129) });
    expect(body.errors).toEqual([{ in: 'body', pointer: '/password', code: 'max_length', message: 'must have at most 128 characters' }]);
  });

  test('treats an empty password as no password', async () => {
    expect((await create({ domain: uniqueDomain(), password: '' })).body.data.has_password).toBe(false);
  });
});

describe('email and exclude_bots', () => {
  test.each(['0', '1'])('accept %s', async (value) => {
    const { body } = await create({ domain: uniqueDomain(), email: value, exclude_bots: value });
    expect(body.data).toMatchObject({ email: Number(value), exclude_bots: Number(value) });
  });

  test.each(['2', '-1', 'true', ''])('return 422 for "%s"', async (value) => {
    const { status, body } = await create({ domain: 'e.example', email: value, exclude_bots: value });
    expect([status, pointers(body)]).toEqual([422, ['/email', '/exclude_bots']]);
  });
});

// line-lists.test.ts covers every kind of line. These cases show that the operation uses its rules.
describe('exclude_ips and exclude_params', () => {
  test('are stored with normalized line endings, without empty lines and duplicates, and addresses in their usual spelling', async () => {
    const { body } = await create({
      domain: 'lines.example',
      exclude_ips: '10.1.2.3/8\r\n\r\n10.0.0.0/8\n0:0::1/128\n',
      exclude_params: '\n \nref\r\nref\r\n',
    });
    expect(body.data).toMatchObject({ exclude_ips: '10.0.0.0/8\n::1', exclude_params: 'ref' });
  });

  test.each(['exclude_ips', 'exclude_params'])('%s accepts 1,000 entries and returns 422 for 1,001', async (field) => {
    const lines = Array.from({ length: 1001 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
    expect((await create({ domain: uniqueDomain(), [field]: lines.slice(1).join('\n') })).status).toBe(201);
    const { body } = await create({ domain: 'l.example', [field]: lines.join('\n') });
    expect(body.errors).toEqual([{ in: 'body', pointer: `/${field}`, code: 'too_many_lines', message: 'must have at most 1000 entries' }]);
  });

  test('422 lists every invalid line of both fields', async () => {
    const { body } = await create({ domain: 'l.example', exclude_ips: '1.2.3.4\r\nx\r\ny', exclude_params: 'ok\na=b' });
    expect(body.errors.map(({ pointer, line }: { pointer: string; line: number }) => [pointer, line])).toEqual([
      ['/exclude_params', 2],
      ['/exclude_ips', 2],
      ['/exclude_ips', 3],
    ]);
    expect(body.detail).toBe(
      'The request has 3 validation errors: /exclude_params, line 2, must be a query parameter name without spaces, control characters, &, = or #; /exclude_ips, line 2, must be an IP address or a CIDR range; /exclude_ips, line 3, must be an IP address or a CIDR range.',
    );
  });

  test.each([
    [100, 'The request has 100 validation errors: '],
    [101, 'The request has more than 100 validation errors, of which the first 100 are listed: '],
    [50_000, 'The request has more than 100 validation errors, of which the first 100 are listed: '],
  ])('422 for %i invalid lines lists the first 100', async (lines, detail) => {
    const { status, body } = await create({ domain: 'l.example', exclude_ips: 'x\n'.repeat(lines) });
    expect([status, body.detail]).toEqual([422, expect.stringContaining(detail)]);
    expect(body.errors.map(({ line }: { line: number }) => line)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
  });
});

describe('body', () => {
  test('returns 415 for anything but a form in UTF-8', async () => {
    expect((await user.api.post('/api/v1/websites', { json: { domain: 'j.example' } })).body.code).toBe('unsupported_media_type');
    for (const type of ['multipart/form-data; boundary=x', 'text/plain', 'application/x-www-form-urlencoded; charset=iso-8859-1']) {
      const response = await user.api.post('/api/v1/websites', { headers: { 'Content-Type': type }, raw: 'domain=m.example' });
      expect([type, response.status]).toEqual([type, 415]);
    }
  });

  test.each(['domain=%FF.example', new Uint8Array([...Buffer.from('domain='), 0xff]), 'domain=%zz'])(
    'returns 400 for a form that is not UTF-8: %s',
    async (raw) => {
      const { status, body } = await user.api.post('/api/v1/websites', {
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        raw,
      });
      expect([status, body.code]).toEqual([400, 'malformed_encoding']);
    },
  );

  test('returns 413 for more than 256 KiB', async () => {
    expect((await create({ domain: 'big.example', exclude_params: 'x'.repeat(300_000) })).status).toBe(413);
  });

  test('returns 422 for a repeated field, even with the same value', async () => {
    const { body } = await create('domain=a.example&domain=a.example');
    expect(body.errors).toEqual([{ in: 'body', pointer: '/domain', code: 'repeated', message: 'must not be given more than once' }]);
  });

  test('returns 422 for unknown fields, including favorite, which only an update accepts', async () => {
    const { body } = await create({ domain: 'u.example', favorite: 'true', colour: 'red' });
    expect(body.errors).toEqual([
      { in: 'body', pointer: '/favorite', code: 'unknown_field', message: 'is not a known field' },
      { in: 'body', pointer: '/colour', code: 'unknown_field', message: 'is not a known field' },
    ]);
  });

  test('422 for 999 unknown fields lists the first 100 and says that there are more', async () => {
    const { status, body } = await create(`domain=a.example&${Array.from({ length: 999 }, (_, index) => `f${index}`).join('&')}`);
    const names = Array.from({ length: 100 }, (_, index) => `/f${index}`);
    expect([status, body.errors.map(({ pointer }: { pointer: string }) => pointer)]).toEqual([422, names]);
    expect(body.detail).toMatch(/^The request has more than 100 validation errors, of which the first 100 are listed: .*; and more\.$/);
  });

  test('422 for more than 1,000 fields lists one error, wherever the known fields are', async () => {
    const unknown = Array.from({ length: 30_000 }, (_, index) => `f${index}`).join('&');
    for (const form of [`domain=a.example&${unknown}`, `${unknown}&domain=a.example`]) {
      const { status, body } = await create(form);
      const error = { in: 'body', pointer: '', code: 'max_properties', message: 'must have at most 1000 fields' };
      expect([status, body.errors]).toEqual([422, [error]]);
    }
  });

  test('returns 422 for NUL characters', async () => {
    const { body } = await create({ domain: 'n.example', password: 'a\u0000b', exclude_params: '\u0000' });
    expect(pointers(body)).toEqual(['/exclude_params', '/password']);
  });

  test('422 lists the errors of the schema and of all further rules at once', async () => {
    const { body } = await create({ domain: 'localhost', privacy: '3', exclude_ips: 'x', colour: 'red' });
    expect(pointers(body)).toEqual(['/colour', '/domain', '/exclude_ips', '/privacy']);
  });
});

describe('quota', () => {
  test('returns 409 above MAX_WEBSITES, even for concurrent requests, until a website is deleted', async () => {
    const limited = await startService({ maxWebsites: 5 }, { database: service.database });
    try {
      const { api } = await limited.createUser();
      const responses = await Promise.all(
        Array.from({ length: 20 }, (_, index) => api.post('/api/v1/websites', { form: { domain: `q${index}.example` } })),
      );
      const created = responses.filter(({ status }) => status === 201);
      const rejected = responses.filter(({ body }) => body.code === 'quota_exceeded');
      expect([created.length, rejected.length]).toEqual([5, 15]);
      expect(rejected[0]?.body.detail).toBe('A user can have at most 5 websites.');
      expect((await api.get('/api/v1/websites')).body.meta.total).toBe(5);
      await api.delete(`/api/v1/websites/${created[0]?.body.data.id}`);
      expect((await api.post('/api/v1/websites', { form: { domain: 'room.example' } })).status).toBe(201);
      const other = await limited.createUser();
      expect((await other.api.post('/api/v1/websites', { form: { domain: 'mine.example' } })).status).toBe(201);
    } finally {
      await limited.stop();
    }
  });
});

describe('Idempotency-Key', () => {
  test('a repeated request gets the first response again, with its ETag and Location', async () => {
    const headers = { 'Idempotency-Key': 'website-1' };
    const first = await create({ domain: 'repeat.example' }, headers);
    const second = await create({ domain: 'repeat.example' }, headers);
    expect([second.status, second.text]).toEqual([201, first.text]);
    for (const name of ['ETag', 'Location']) expect(second.headers.get(name)).toBe(first.headers.get(name));
    expect([first, second].map((response) => response.headers.get('Idempotent-Replayed'))).toEqual([null, 'true']);
    expect((await create({ domain: 'other.example' }, headers)).body.code).toBe('idempotency_key_reused');
  });

  test('a repeated request gets 409 with the id of the website if the first response was larger than 8 KiB', async () => {
    const headers = { 'Idempotency-Key': 'website-large' };
    const form = { domain: 'large.example', exclude_params: Array.from({ length: 1000 }, (_, index) => `parameter-${index}`).join('\n') };
    const first = await create(form, headers);
    expect([first.status, first.text.length > 8192]).toEqual([201, true]);
    const { id } = first.body.data;
    for (let time = 0; time < 2; time++) {
      const { status, body } = await create(form, headers);
      expect([status, body]).toEqual([409, expect.objectContaining({ code: 'already_created', title: 'Already created', id })]);
      expect(body.detail).toBe(
        `An earlier request with this Idempotency-Key created website ${id}, but its response was too large to store. Read the resource instead.`,
      );
    }
    expect((await create({ ...form, email: '1' }, headers)).body.code).toBe('idempotency_key_reused');
    expect((await user.api.get(`/api/v1/websites/${id}`)).text).toBe(first.text);
  });
});

describe('access', () => {
  test('returns 401 without a key and creates nothing', async () => {
    expect((await service.anonymous.post('/api/v1/websites', { form: { domain: 'anonymous.example' } })).status).toBe(401);
    expect((await user.api.get('/api/v1/websites?search=anonymous')).body.meta.total).toBe(0);
  });

  test('returns 403 without the scope websites:write', async () => {
    const reader = await user.withScopes('websites:read', 'monitors:write');
    const { status, body } = await reader.post('/api/v1/websites', { form: { domain: 'reader.example' } });
    expect([status, body.code]).toEqual([403, 'missing_scope']);
    expect(body.detail).toBe('This operation requires the scope "websites:write". Use an API key that has it.');
  });
});
