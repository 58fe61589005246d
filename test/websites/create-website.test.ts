import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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

let made = 0;
const freshDomain = () => `fresh-${++made}.example`;

describe('Status codes and defaults', () => {
  test('201 with Location, ETag and the defaults of the original: privacy 0, email 0, exclude_bots 1', async () => {
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
    expect(body.data.updated_at).toBe(body.data.created_at);
  });

  test('Location leads to the website, with the same body and ETag', async () => {
    const created = await create({ domain: freshDomain() });
    const shown = await user.api.get(created.headers.get('Location') ?? '');
    expect(shown.text).toBe(created.text);
    expect(shown.headers.get('ETag')).toBe(created.headers.get('ETag'));
  });

  test('ids grow with creation', async () => {
    const [first, second] = [await create({ domain: freshDomain() }), await create({ domain: freshDomain() })];
    expect(second.body.data.id).toBeGreaterThan(first.body.data.id);
  });
});

describe('Fields of a website', () => {
  test('every setting is stored and comes back, but for the password', async () => {
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
    expect(listed.body.data).toEqual([body.data]);
  });
});

describe('Password in answers', () => {
  test('the password is stored hashed and never returned', async () => {
    const { text } = await create({ domain: 'secret.example', privacy: '2', password: 'hunter2hunter2' });
    expect(text).not.toContain('hunter2');
    const [row] = await service.database.asUser(user.id, (em) =>
      em.execute("select password_hash from websites where domain = 'secret.example'"),
    );
    expect(row).toMatchObject({ password_hash: expect.stringMatching(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/) });
  });
});

describe('What counts as a domain, and its normal form', () => {
  test.each([
    ['of a URL the host counts', 'https://WWW.Shop.example.com:8443/path?x#y', 'shop.example.com'],
    ['http in capitals', 'HTTP://shout.example', 'shout.example'],
    ['international names in ASCII', 'bücher.example', 'xn--bcher-kva.example'],
    ['capitals and a dot at the end', 'MÜNCHEN.example.', 'xn--mnchen-3ya.example'],
    ['full-width letters and dots', 'ｆｕｌｌｗｉｄｔｈ．example', 'fullwidth.example'],
    ['a soft hyphen', 'soft\u00adhyphen.example', 'softhyphen.example'],
    ['mixed scripts', 'p\u0430ypal.example', 'xn--pypal-4ve.example'],
    ['www. stays where one label would be left', 'www.com', 'www.com'],
    ['www. goes as long as two labels are left', 'www.www.example', 'www.example'],
    ['www. goes as often as it stands there', 'www.www.a.example', 'a.example'],
    ['a label of 63', `${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
    ['253 characters', `${`${'a'.repeat(49)}.`.repeat(5)}abc`, `${`${'a'.repeat(49)}.`.repeat(5)}abc`],
  ])('%s: %s', async (_, given, domain) => {
    expect((await create({ domain: given })).body.data.domain).toBe(domain);
  });

  test.each([
    ['composed and decomposed letters', 'f\u00fcr.example', 'fu\u0308r.example'],
    ['letters and their ASCII form', 'gr\u00fcn.example', 'XN--GRN-IOA.example'],
    ['mixed scripts and their ASCII form', '\u0430pple.example', 'xn--pple-43d.example'],
    ['an ideographic full stop', 'stop\u3002example', 'stop.example'],
    ['a soft hyphen in a full-width name', '\uff57\uff49\u00ad\uff44\uff45.example', 'wide.example'],
  ])('one normal form for %s', async (_, first, second) => {
    expect((await create({ domain: first })).status).toBe(201);
    expect((await create({ domain: second })).body.code).toBe('domain_taken');
  });

  test.each([
    ['a bare name with a port', 'example.com:80'],
    ['a bare name with a path', 'example.com/x'],
    ['a URL with a user name', 'https://me@example.com/'],
    ['a URL with a password', 'https://:pw@example.com/'],
    ['another scheme', 'ftp://example.com/'],
    ['with a blank', 'exa mple.com'],
    ['with a blank at the end', 'example.com '],
    ['empty', ''],
  ])('422 for %s', async (_, domain) => {
    const { status, body } = await create({ domain });
    expect([status, pointers(body)]).toEqual([422, ['/domain']]);
  });
});

describe('Valid domains', () => {
  test.each([
    ['an IPv4 address', '192.0.2.1'],
    ['an IPv4 address with a dot at the end', '192.0.2.1.'],
    ['an IPv4 address in a URL', 'http://192.0.2.1/'],
    ['an IPv4 address in hex', '0xC0000201'],
    ['an IPv4 address in octal', '0300.0.02.01'],
    ['an IPv4 address as one number', '3221225985'],
    ['an IPv4 address in two parts', '127.1'],
    ['an IPv4 address in full-width digits', '\uff11\uff19\uff12.0.2.1'],
    ['an IPv6 address', 'http://[2001:db8::1]/'],
    ['an IPv6 address without brackets', '2001:db8::1'],
    ['a mapped IPv6 address', 'http://[::ffff:192.0.2.1]/'],
    ['one label', 'localhost'],
    ['one label after www.', 'http://localhost./'],
    ['an empty label', 'a..example'],
    ['a leading dot', '.example.com'],
    ['a label of 64', `${'a'.repeat(64)}.example`],
    ['an underscore', 'a_b.example'],
    ['a leading hyphen', '-a.example'],
    ['a trailing hyphen', 'a-.example'],
    ['254 characters', `${`${'a'.repeat(49)}.`.repeat(5)}abcd`],
    ['2,049 characters', `https://example.com/${'a'.repeat(2029)}`],
    ['xn-- that does not decode', 'xn--0.example'],
    ['xn-- with nothing behind it', 'xn--.example'],
  ])('422 for %s', async (_, domain) => {
    const { status, body } = await create({ domain });
    expect([status, pointers(body)]).toEqual([422, ['/domain']]);
  });

  test('422 for a domain that is missing, and for an empty body', async () => {
    expect((await create({ privacy: '1' })).body.errors).toEqual([expect.objectContaining({ pointer: '/domain', code: 'required' })]);
    const empty = await user.api.post('/api/v1/websites', { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } });
    expect([empty.status, pointers(empty.body)]).toEqual([422, ['/domain']]);
    const nothing = await user.api.post('/api/v1/websites');
    expect([nothing.status, pointers(nothing.body)]).toEqual([422, ['/domain']]);
  });
});

describe('The same domain twice', () => {
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

  test('100 creations of one domain at once: one is 201 and 99 are 409', async () => {
    const statuses = await Promise.all(Array.from({ length: 100 }, async () => (await create({ domain: 'race.example' })).status));
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(statuses.filter((status) => status === 409)).toHaveLength(99);
    expect((await user.api.get('/api/v1/websites?search=race.example')).body.meta.total).toBe(1);
  });
});

describe('privacy and password', () => {
  test.each(['3', '-1', 'public', '1.0', '0x1', '01', ' 1', ''])('422 for privacy "%s"', async (privacy) => {
    const { status, body } = await create({ domain: 'p.example', privacy });
    expect([status, pointers(body)]).toEqual([422, ['/privacy']]);
  });

  test.each(['0', '1'])('a password sent with privacy %s is stored', async (privacy) => {
    const { body } = await create({ domain: freshDomain(), privacy, password: 'later' });
    expect(body.data).toMatchObject({ privacy: Number(privacy), has_password: true });
  });

  test('privacy 2 needs a password: 422 without one, and with an empty one', async () => {
    for (const form of [{}, { password: '' }]) {
      const { body } = await create({ domain: 'p.example', privacy: '2', ...form });
      expect(body.errors).toEqual([expect.objectContaining({ pointer: '/password', code: 'password_needed' })]);
    }
  });

  test('a password has 1 to 128 characters; 422 for 129, and that alone', async () => {
    expect((await create({ domain: freshDomain(), privacy: '2', password: 'x' })).status).toBe(201);
    expect((await create({ domain: freshDomain(), privacy: '2', password: 'ü'.repeat(128) })).status).toBe(201);
    const { body } = await create({ domain: 'p.example', privacy: '2', password: 'x'.repeat(129) });
    expect(body.errors).toEqual([expect.objectContaining({ pointer: '/password', code: 'max_length' })]);
  });

  test('an empty password is none', async () => {
    expect((await create({ domain: freshDomain(), password: '' })).body.data.has_password).toBe(false);
  });
});

describe('email and exclude_bots', () => {
  test.each(['0', '1'])('%s is stored', async (value) => {
    const { body } = await create({ domain: freshDomain(), email: value, exclude_bots: value });
    expect(body.data).toMatchObject({ email: Number(value), exclude_bots: Number(value) });
  });

  test.each(['2', '-1', 'true', ''])('422 for "%s"', async (value) => {
    const { status, body } = await create({ domain: 'e.example', email: value, exclude_bots: value });
    expect([status, pointers(body)]).toEqual([422, ['/email', '/exclude_bots']]);
  });
});

describe('exclude_ips', () => {
  test.each(['192.0.2.7', '192.0.2.0/24', '0.0.0.0/0', '2001:db8::1', '2001:db8::/32', '::ffff:192.0.2.7', '::/128'])(
    'takes %s',
    async (line) => {
      expect((await create({ domain: freshDomain(), exclude_ips: line })).body.data.exclude_ips).toBe(line);
    },
  );

  test.each(['999.1.1.1', '192.0.2.0/33', '192.0.2.0/-1', '192.0.2.0/024', '192.0.2.0/', '1.2.3', '0x7f.1', '::/129', 'fe80::1%eth0', 'x'])(
    '422 for %s, naming its line',
    async (line) => {
      const { body } = await create({ domain: 'i.example', exclude_ips: `192.0.2.1\r\n\r\n${line}` });
      expect(body.errors).toEqual([expect.objectContaining({ pointer: '/exclude_ips', code: 'invalid_line', line: 3 })]);
    },
  );
});

describe('exclude_params', () => {
  test.each(['utm_source', 'a[b]', 'größe', 'x%20y'])('takes %s', async (line) => {
    expect((await create({ domain: freshDomain(), exclude_params: line })).body.data.exclude_params).toBe(line);
  });

  test.each(['a b', 'a&b', 'a=b', 'a#b', 'a\tb'])('422 for %j, naming its line', async (line) => {
    const { body } = await create({ domain: 'i.example', exclude_params: `ok\n${line}` });
    expect(body.errors).toEqual([expect.objectContaining({ pointer: '/exclude_params', code: 'invalid_line', line: 2 })]);
  });
});

describe('Line ends', () => {
  test('\\r\\n becomes \\n, blank lines and doubles go', async () => {
    const { body } = await create({
      domain: 'lines.example',
      exclude_ips: '10.0.0.0/8\r\n\r\n10.0.0.0/8\n::1\n',
      exclude_params: '\n \nref\r\nref\r\n',
    });
    expect(body.data).toMatchObject({ exclude_ips: '10.0.0.0/8\n::1', exclude_params: 'ref' });
  });

  test.each(['exclude_ips', 'exclude_params'])('%s: 1,000 lines at most', async (field) => {
    const lines = Array.from({ length: 1001 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
    expect((await create({ domain: freshDomain(), [field]: lines.slice(1).join('\n') })).status).toBe(201);
    const { body } = await create({ domain: 'l.example', [field]: lines.join('\n') });
    expect(body.errors).toEqual([expect.objectContaining({ pointer: `/${field}`, code: 'too_many_lines' })]);
  });

  test('422 names every bad line of both lists', async () => {
    const { body } = await create({ domain: 'l.example', exclude_ips: '1.2.3.4\r\nx\r\ny', exclude_params: 'ok\na=b' });
    expect(body.errors.map(({ pointer, line }: { pointer: string; line: number }) => [pointer, line])).toEqual([
      ['/exclude_params', 2],
      ['/exclude_ips', 2],
      ['/exclude_ips', 3],
    ]);
  });

  test('422 names no more bad lines than there may be lines', async () => {
    const { status, body } = await create({ domain: 'l.example', exclude_ips: 'x\n'.repeat(50_000) });
    expect([status, body.errors.length, body.errors.at(-1).code]).toEqual([422, 1002, 'too_many_lines']);
  });
});

describe('Body type', () => {
  test('415 for anything but a form in UTF-8', async () => {
    expect((await user.api.post('/api/v1/websites', { json: { domain: 'j.example' } })).body.code).toBe('unsupported_media_type');
    for (const type of ['multipart/form-data; boundary=x', 'text/plain', 'application/x-www-form-urlencoded; charset=iso-8859-1']) {
      const answer = await user.api.post('/api/v1/websites', { headers: { 'Content-Type': type }, raw: 'domain=m.example' });
      expect([type, answer.status]).toEqual([type, 415]);
    }
  });

  test.each(['domain=%FF.example', new Uint8Array([...Buffer.from('domain='), 0xff]), 'domain=%zz'])(
    '400 for a form that is not UTF-8: %s',
    async (raw) => {
      const { status, body } = await user.api.post('/api/v1/websites', {
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        raw,
      });
      expect([status, body.code]).toEqual([400, 'malformed_encoding']);
    },
  );

  test('413 above 256 KiB', async () => {
    expect((await create({ domain: 'big.example', exclude_params: 'x'.repeat(300_000) })).status).toBe(413);
  });

  test('422 for a field given twice, with the same value too', async () => {
    const { body } = await create('domain=a.example&domain=a.example');
    expect(body.errors).toEqual([expect.objectContaining({ pointer: '/domain', code: 'repeated' })]);
  });

  test('422 for an unknown field, favorite on create among them', async () => {
    const { body } = await create({ domain: 'u.example', favorite: 'true', colour: 'red' });
    expect(body.errors.map(({ pointer, code }: { pointer: string; code: string }) => [pointer, code])).toEqual([
      ['/favorite', 'unknown_field'],
      ['/colour', 'unknown_field'],
    ]);
  });

  test('422 for 30,000 unknown fields lists 10,000 of them and says how many there are', async () => {
    const { status, body } = await create(`domain=a.example&${Array.from({ length: 30_000 }, (_, index) => `f${index}`).join('&')}`);
    expect([status, body.errors.length, body.detail]).toEqual([422, 10_000, expect.stringContaining('30000 faults')]);
  });

  test('422 for NUL', async () => {
    const { body } = await create({ domain: 'n.example', password: 'a\u0000b', exclude_params: '\u0000' });
    expect(pointers(body)).toEqual(['/exclude_params', '/password']);
  });

  test('422 names faults of the schema and of our own rules at once', async () => {
    const { body } = await create({ domain: 'localhost', privacy: '3', exclude_ips: 'x', colour: 'red' });
    expect(pointers(body)).toEqual(['/colour', '/domain', '/exclude_ips', '/privacy']);
  });
});

describe('Quotas', () => {
  test('409 over MAX_WEBSITES, however many come at once; a deletion makes room', async () => {
    const small = await startService({ maxWebsites: 5 }, { database: service.database });
    try {
      const { api } = await small.createUser();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => api.post('/api/v1/websites', { form: { domain: `q${index}.example` } })),
      );
      const created = answers.filter(({ status }) => status === 201);
      expect(created).toHaveLength(5);
      expect(answers.filter(({ body }) => body.code === 'quota_exceeded')).toHaveLength(15);
      expect((await api.get('/api/v1/websites')).body.meta.total).toBe(5);
      await api.delete(`/api/v1/websites/${created[0]?.body.data.id}`);
      expect((await api.post('/api/v1/websites', { form: { domain: 'room.example' } })).status).toBe(201);
      const other = await small.createUser();
      expect((await other.api.post('/api/v1/websites', { form: { domain: 'mine.example' } })).status).toBe(201);
    } finally {
      await small.stop();
    }
  });
});

describe('Repeating a POST', () => {
  test('the same Idempotency-Key gets the first answer again, with its ETag and Location', async () => {
    const headers = { 'Idempotency-Key': 'website-1' };
    const first = await create({ domain: 'repeat.example' }, headers);
    const second = await create({ domain: 'repeat.example' }, headers);
    expect([second.status, second.text]).toEqual([201, first.text]);
    for (const name of ['ETag', 'Location']) expect(second.headers.get(name)).toBe(first.headers.get(name));
    expect((await create({ domain: 'other.example' }, headers)).body.code).toBe('idempotency_key_reused');
  });
});

describe('Keys', () => {
  test('401 without a key, and nothing is created', async () => {
    expect((await service.stranger.post('/api/v1/websites', { form: { domain: 'stranger.example' } })).status).toBe(401);
    expect((await user.api.get('/api/v1/websites?search=stranger')).body.meta.total).toBe(0);
  });

  test('403 without the scope websites:write, which is named', async () => {
    const reader = await user.withScopes('websites:read', 'monitors:write');
    const { status, body } = await reader.post('/api/v1/websites', { form: { domain: 'reader.example' } });
    expect(status).toBe(403);
    expect(body).toMatchObject({ code: 'missing_scope', detail: expect.stringContaining('"websites:write"') });
  });
});
