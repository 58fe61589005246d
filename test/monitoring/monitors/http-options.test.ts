// What an http check sends and expects, as clients set and read it.
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseRanges } from '../../../src/net/addresses.ts';
import { changeBeforeUpdate } from '../../support/database.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { storedRows } from '../../support/stored-rows.ts';
import { startWebServer, type WebServer } from '../../support/web-server.ts';
import { createMonitor, createProvider, monitorExample } from '../factories.ts';

let service: TestService;
let user: TestUser;
const logged: string[] = [];
const net = { allow: parseRanges(['127.0.0.0/8']) };

beforeAll(async () => {
  const log = pino({ level: 'trace' }, { write: (line) => void logged.push(line) });
  service = await startService({ maxMonitors: 1000, netAllow: ['127.0.0.0/8'] }, { log, net });
  user = await service.createUser();
});
afterAll(() => service.stop());

const create = (http: unknown, fields: object = {}) => user.api.post('/api/monitors', { json: { ...monitorExample, ...fields, http } });
const execute = (sql: string, params: unknown[]) => service.database.asUser(user.id, (em) => em.execute(sql, params, 'run'));

const defaults = {
  method: 'GET',
  headers: [],
  body: null,
  expected_status: ['2xx'],
  body_contains: null,
  body_not_contains: null,
  json: null,
  follow_redirects: true,
  verify_tls: true,
  tls_warning_days: 14,
};

/** A value of each option that is not its default. */
const others = {
  method: 'POST',
  headers: [{ name: 'X-Plain', value: 'a', secret: false }],
  body: 'ping',
  expected_status: ['200', '404'],
  body_contains: 'ready',
  body_not_contains: 'error',
  json: { pointer: '/status', equals: 'ok' },
  follow_redirects: false,
  verify_tls: false,
  tls_warning_days: 30,
};

const secret = 'Bearer example-token-1234567890';
const authorization = { name: 'Authorization', value: secret };
const masked = { name: 'Authorization', value: '****7890', secret: true };

/** Options and what the API shows of them. They are accepted on creation and by an update. */
const accepted: [string, object, object?][] = [
  ['no option', {}],
  ['every default', defaults],
  ['every other value', others],
  ...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map((method): [string, object] => [`method ${method}`, { method }]),
  ['no header', { headers: [] }],
  ['20 headers', { headers: Array.from({ length: 20 }, (_, n) => ({ name: `X-${n}`, value: 'v', secret: false })) }],
  ['the longest header', { headers: [{ name: 'X'.repeat(100), value: 'v'.repeat(2000), secret: false }] }],
  ['every character of a name', { headers: [{ name: "!#$%&'*+.^_`|~-09azAZ", value: '!', secret: false }] }],
  ['every character of a value', { headers: [{ name: 'X', value: '! "#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~', secret: false }] }],
  ['an empty body', { body: '' }],
  ['the longest body', { body: 'ü'.repeat(8192) }],
  ['a body with control characters', { body: '\u0001\r\n\t' }],
  ['a body with an emoji', { body: '🚀' }],
  ['the lowest and highest status', { expected_status: ['200', '999'] }],
  ['a range of one status', { expected_status: ['200-200'] }],
  ['the widest range', { expected_status: ['200-999'] }],
  ['every class', { expected_status: ['2xx', '3xx', '4xx', '5xx', '6xx', '7xx', '8xx', '9xx'] }],
  ['20 statuses', { expected_status: Array.from({ length: 20 }, (_, n) => String(200 + n)) }],
  ['the shortest texts', { body_contains: 'a', body_not_contains: ' ' }],
  ['the longest texts', { body_contains: 'a'.repeat(200), body_not_contains: '🚀'.repeat(100) }],
  ['the whole document', { json: { pointer: '', equals: 'up' } }],
  ['an empty key', { json: { pointer: '/', equals: '' } }],
  ['escaped characters in a pointer', { json: { pointer: '/a~1b/~0/0', equals: 1 } }],
  ['the longest pointer', { json: { pointer: `/${'a'.repeat(199)}`, equals: 'x'.repeat(200) } }],
  ...[true, false, null, 0, -1.5, 9007199254740991, '0'].map((equals): [string, object] => [
    `the value ${JSON.stringify(equals)}`,
    { json: { pointer: '/a', equals } },
  ]),
  ['a warning one day before', { tls_warning_days: 1 }],
  ['a warning a year before', { tls_warning_days: 365 }],
  ['no warning', { tls_warning_days: null }],
  ['null where it is allowed', { body: null, body_contains: null, body_not_contains: null, json: null }],
  ['HEAD with conditions that are null', { method: 'HEAD', body_contains: null, body_not_contains: null, json: null }],
  ['a secret header', { headers: [authorization] }, { headers: [masked] }],
  ['a short secret', { headers: [{ name: 'X-Key', value: 'abc' }] }, { headers: [{ name: 'X-Key', value: '****', secret: true }] }],
  [
    'a header that is usually no secret',
    { headers: [{ name: 'user-AGENT', value: 'own' }] },
    { headers: [{ name: 'user-AGENT', value: 'own', secret: false }] },
  ],
  [
    'a header that is usually no secret, as one',
    { headers: [{ name: 'Accept', value: 'x'.repeat(20), secret: true }] },
    { headers: [{ name: 'Accept', value: '****xxxx', secret: true }] },
  ],
];

const texts = 'must have at most 200 characters';
const noNul = 'must not contain NUL or unpaired surrogate characters';
const headerName = 'must be a valid header name';
const headerValue = 'must contain only printable ASCII characters, and no space at the start or end';
const statusText = 'must be a status such as 301, a range such as 400-404, or a class such as 2xx';
const pointerText = 'must be a JSON pointer such as /status or /checks/0/state';
const header = (fields: object) => ({ headers: [{ name: 'X', value: 'v', ...fields }] });
const json = (fields: object) => ({ json: { pointer: '/a', equals: 1, ...fields } });

/** Options, the pointer within them, the code and the message. They are rejected on creation and by an update. */
const rejected: [unknown, string, string, string][] = [
  [null, '', 'type', 'must be an object'],
  [[], '', 'type', 'must be an object'],
  ['GET', '', 'type', 'must be an object'],
  [{ colour: 'red' }, '/colour', 'unknown_field', 'is not a known field'],
  [{ method: null }, '/method', 'enum', expect.stringContaining('must be one of GET, ') as never],
  [{ method: '' }, '/method', 'enum', expect.stringContaining('must be one of GET, ') as never],
  [{ method: 'get' }, '/method', 'enum', expect.stringContaining('must be one of GET, ') as never],
  [{ method: 'TRACE' }, '/method', 'enum', expect.stringContaining('must be one of GET, ') as never],
  [{ method: 'CONNECT' }, '/method', 'enum', expect.stringContaining('must be one of GET, ') as never],
  [{ headers: null }, '/headers', 'type', 'must be an array'],
  [{ headers: {} }, '/headers', 'type', 'must be an array'],
  [{ headers: ['X: 1'] }, '/headers/0', 'type', 'must be an object'],
  [
    { headers: Array.from({ length: 21 }, (_, n) => ({ name: `X-${n}`, value: 'v' })) },
    '/headers',
    'max_items',
    'must have at most 20 items',
  ],
  [{ headers: [{ value: 'v' }] }, '/headers/0/name', 'required', 'is required'],
  [{ headers: [{ name: 'X' }] }, '/headers/0/value', 'required', 'is required'],
  [header({ colour: 1 }), '/headers/0/colour', 'unknown_field', 'is not a known field'],
  [header({ name: '' }), '/headers/0/name', 'min_length', 'must have at least 1 character'],
  [header({ name: 'X'.repeat(101) }), '/headers/0/name', 'max_length', 'must have at most 100 characters'],
  [header({ name: 'X Y' }), '/headers/0/name', 'pattern', headerName],
  [header({ name: 'X:' }), '/headers/0/name', 'pattern', headerName],
  [header({ name: 'Ü' }), '/headers/0/name', 'pattern', headerName],
  [header({ name: 'X\n' }), '/headers/0/name', 'pattern', headerName],
  [header({ name: 1 }), '/headers/0/name', 'type', 'must be a string'],
  [header({ value: '' }), '/headers/0/value', 'min_length', 'must have at least 1 character'],
  [header({ value: 'v'.repeat(2001) }), '/headers/0/value', 'max_length', 'must have at most 2000 characters'],
  [header({ value: ' v' }), '/headers/0/value', 'pattern', headerValue],
  [header({ value: 'v ' }), '/headers/0/value', 'pattern', headerValue],
  [header({ value: 'a\r\nX-Other: b' }), '/headers/0/value', 'pattern', headerValue],
  [header({ value: 'v\n' }), '/headers/0/value', 'pattern', headerValue],
  [header({ value: 'ü' }), '/headers/0/value', 'pattern', headerValue],
  [header({ value: null }), '/headers/0/value', 'type', 'must be a string'],
  [header({ secret: null }), '/headers/0/secret', 'type', 'must be true or false'],
  [header({ secret: 'yes' }), '/headers/0/secret', 'type', 'must be true or false'],
  ...['Host', 'CONTENT-LENGTH', 'accept-encoding', 'Connection', 'Transfer-Encoding', 'Upgrade', 'Expect', 'TE', 'Trailer'].map(
    (name): [unknown, string, string, string] => [header({ name }), '/headers/0/name', 'not_allowed', 'cannot be set'],
  ),
  [
    {
      headers: [
        { name: 'X-Key', value: 'a' },
        { name: 'x-key', value: 'b' },
      ],
    },
    '/headers/1/name',
    'repeated',
    'must not be repeated',
  ],
  [
    header({ name: 'X-New', value: '****7890' }),
    '/headers/0/value',
    'unknown_mask',
    'is a mask, which keeps a stored value only if it is the current mask of a secret header with this name, the header stays secret, url keeps its origin and verify_tls is not turned off. Send the full value',
  ],
  [header({ name: 'Accept', value: '****' }), '/headers/0/value', 'unknown_mask', expect.stringContaining('is a mask,') as never],
  [{ body: 1 }, '/body', 'type', 'must be a string'],
  [{ body: 'x'.repeat(16_385) }, '/body', 'max_length', 'must have at most 16384 characters'],
  [{ body: 'ü'.repeat(8193) }, '/body', 'max_bytes', 'must have at most 16384 bytes in UTF-8'],
  [{ body: '😀'.repeat(4097) }, '/body', 'max_bytes', 'must have at most 16384 bytes in UTF-8'],
  [{ body: 'a\u0000' }, '/body', 'invalid_character', noNul],
  [{ expected_status: null }, '/expected_status', 'type', 'must be an array of strings, such as ["2xx", "301"]'],
  [{ expected_status: '200' }, '/expected_status', 'type', 'must be an array of strings, such as ["2xx", "301"]'],
  [{ expected_status: [] }, '/expected_status', 'min_items', 'must have at least 1 item'],
  [
    { expected_status: Array.from({ length: 21 }, (_, n) => String(200 + n)) },
    '/expected_status',
    'max_items',
    'must have at most 20 items',
  ],
  [{ expected_status: ['200', '200'] }, '/expected_status', 'repeated', expect.stringContaining('must not contain duplicates') as never],
  [{ expected_status: [200] }, '/expected_status/0', 'type', 'must be a string, such as "301", "400-404" or "2xx"'],
  [{ expected_status: ['404-400'] }, '/expected_status/0', 'range', 'must begin with the lower status'],
  ...['', '199', '1xx', '2XX', '20x', '1000', '200-', '-200', '200 ', '2xx-3xx', '200\n'].map(
    (status): [unknown, string, string, string] => [{ expected_status: ['2xx', status] }, '/expected_status/1', 'pattern', statusText],
  ),
  ...(['body_contains', 'body_not_contains'] as const).flatMap((name): [unknown, string, string, string][] => [
    [{ [name]: '' }, `/${name}`, 'min_length', 'must have at least 1 character'],
    [{ [name]: 'a'.repeat(201) }, `/${name}`, 'max_length', texts],
    [{ [name]: '\u0000' }, `/${name}`, 'invalid_character', noNul],
    [{ [name]: 5 }, `/${name}`, 'type', 'must be a string'],
    [{ method: 'HEAD', [name]: 'a' }, `/${name}`, 'no_body', 'cannot be used with the method HEAD'],
  ]),
  [{ method: 'HEAD', json: { pointer: '', equals: null } }, '/json', 'no_body', 'cannot be used with the method HEAD'],
  [{ json: [] }, '/json', 'type', 'must be an object'],
  [{ json: { pointer: '/a' } }, '/json/equals', 'required', 'is required'],
  [{ json: { equals: 1 } }, '/json/pointer', 'required', 'is required'],
  [json({ path: '/a' }), '/json/path', 'unknown_field', 'is not a known field'],
  [json({ pointer: null }), '/json/pointer', 'type', 'must be a string'],
  [json({ pointer: 'status' }), '/json/pointer', 'pattern', pointerText],
  [json({ pointer: '/a~2' }), '/json/pointer', 'pattern', pointerText],
  [json({ pointer: '/a~' }), '/json/pointer', 'pattern', pointerText],
  [json({ pointer: '/a\u0000' }), '/json/pointer', 'invalid_character', noNul],
  [json({ pointer: '/a\n' }), '/json/pointer', 'pattern', pointerText],
  [json({ pointer: `/${'a'.repeat(200)}` }), '/json/pointer', 'max_length', texts],
  ...[{}, [], ['a'], 'x'.repeat(201)].map((equals): [unknown, string, string, string] => [
    json({ equals }),
    '/json/equals',
    expect.any(String) as never,
    'must be a string of at most 200 characters, a number from -9007199254740991 to 9007199254740991, true, false or null',
  ]),
  ...(['follow_redirects', 'verify_tls'] as const).flatMap((name): [unknown, string, string, string][] => [
    [{ [name]: null }, `/${name}`, 'type', 'must be true or false'],
    [{ [name]: 'true' }, `/${name}`, 'type', 'must be true or false'],
    [{ [name]: 1 }, `/${name}`, 'type', 'must be true or false'],
  ]),
  [
    { body_contains: 'no error', body_not_contains: 'error' },
    '/body_not_contains',
    'contradiction',
    'must not be a part of body_contains, because no response could meet both',
  ],
  [{ tls_warning_days: 0 }, '/tls_warning_days', 'minimum', 'must be at least 1'],
  [{ tls_warning_days: 366 }, '/tls_warning_days', 'maximum', 'must be at most 365'],
  [{ tls_warning_days: 1.5 }, '/tls_warning_days', 'type', 'must be an integer'],
  [{ tls_warning_days: '14' }, '/tls_warning_days', 'type', 'must be an integer'],
];

describe('on creation', () => {
  test('an absent object has the defaults', async () => {
    expect((await create(undefined)).body.data.http).toEqual(defaults);
  });

  test.each(accepted)('accepts %s', async (_, http, shown = http) => {
    const { status, body } = await create(http);
    expect([status, body.data.http]).toEqual([201, { ...defaults, ...shown }]);
    expect((await user.api.get(`/api/monitors/${body.data.id}`)).body).toEqual(body);
  });

  test.each(rejected)('rejects %j and creates nothing', async (http, pointer, code, message) => {
    const other = await service.createUser();
    const { status, body } = await other.api.post('/api/monitors', { json: { ...monitorExample, http } });
    expect([status, body.errors]).toEqual([422, [{ in: 'body', pointer: `/http${pointer}`, code, message }]]);
    expect((await other.api.get('/api/monitors')).body.meta.total).toBe(0);
  });
});

describe('by an update', () => {
  test.each(accepted)('accepts %s and keeps the absent options', async (_, http, shown = http) => {
    const before = 'method' in http && http.method === 'HEAD' ? { tls_warning_days: 7 } : others;
    const { path, data } = await createMonitor(user, { http: before });
    const { status, body } = await user.api.put(path, { json: { http } });
    expect([status, body.data.http]).toEqual([200, { ...(data.http as object), ...shown }]);
    expect((await user.api.get(path)).body).toEqual(body);
  });

  test.each(rejected)('rejects %j and changes nothing', async (http, pointer, code, message) => {
    const { path, etag } = await createMonitor(user, { http: { tls_warning_days: 7 } });
    const { status, body } = await user.api.put(path, { json: { interval: 90, http } });
    expect([status, body.errors]).toEqual([422, [{ in: 'body', pointer: `/http${pointer}`, code, message }]]);
    expect((await user.api.get(path, { headers: { 'If-None-Match': etag } })).status).toBe(304);
  });

  test.each(Object.keys(others))('changes only %s', async (name) => {
    const { path } = await createMonitor(user);
    const value = others[name as keyof typeof others];
    expect((await user.api.put(path, { json: { http: { [name]: value } } })).body.data.http).toEqual({ ...defaults, [name]: value });
  });

  test.each(['body', 'body_contains', 'body_not_contains', 'json', 'tls_warning_days'])('null removes %s', async (name) => {
    const { path } = await createMonitor(user, { http: others });
    expect((await user.api.put(path, { json: { http: { [name]: null } } })).body.data.http).toEqual({ ...others, [name]: null });
  });

  test('headers and expected_status are replaced as a whole', async () => {
    const { path } = await createMonitor(user, { http: others });
    const http = { headers: [{ name: 'X-New', value: 'b', secret: false }], expected_status: ['301'] };
    expect((await user.api.put(path, { json: { http } })).body.data.http).toEqual({ ...others, ...http });
  });

  test.each([
    ['a condition of the body, if the stored method is HEAD', { method: 'HEAD' }, { body_contains: 'a' }, '/http/body_contains'],
    ['the method HEAD, if a condition of the body is stored', { json: { pointer: '', equals: 1 } }, { method: 'HEAD' }, '/http/json'],
  ])('rejects %s', async (_, stored, http, pointer) => {
    const { path, data } = await createMonitor(user, { http: stored });
    const { status, body } = await user.api.put(path, { json: { http } });
    expect([status, body.errors]).toMatchObject([422, [{ pointer, code: 'no_body' }]]);
    expect((await user.api.get(path)).body.data).toEqual(data);
  });

  test.each([
    ['body_not_contains', 'body_contains', { body_contains: 'no error' }, { body_not_contains: 'error' }],
    ['body_contains', 'body_not_contains', { body_not_contains: 'error' }, { body_contains: 'no error' }],
  ])('rejects %s that contradicts the stored %s', async (_, __, stored, http) => {
    const { path, data } = await createMonitor(user, { http: stored });
    const { status, body } = await user.api.put(path, { json: { http } });
    expect([status, body.errors]).toMatchObject([422, [{ pointer: '/http/body_not_contains', code: 'contradiction' }]]);
    expect((await user.api.get(path)).body.data).toEqual(data);
  });

  test('the method HEAD is accepted together with null for the stored condition', async () => {
    const { path } = await createMonitor(user, { http: { body_contains: 'a' } });
    expect((await user.api.put(path, { json: { http: { method: 'HEAD', body_contains: null } } })).status).toBe(200);
  });
});

describe('text that cannot be stored', () => {
  const paths = ['body', 'body_contains', 'body_not_contains', 'json.equals', 'json.pointer'];
  test.each(paths)('an unpaired surrogate in %s is rejected, not an error of the service', async (name) => {
    const raw = JSON.stringify({ ...monitorExample, http: nested(name, '/\ud800') });
    const { status, body } = await user.api.post('/api/monitors', { raw, headers: { 'Content-Type': 'application/json' } });
    expect([status, body.errors]).toMatchObject([422, [{ pointer: `/http/${name.replace('.', '/')}`, code: 'invalid_character' }]]);
  });

  test('a number that is too large for a double is rejected', async () => {
    const raw = JSON.stringify({ ...monitorExample, http: json({ equals: 'N' }) }).replace('"N"', '1e400');
    const { status, body } = await user.api.post('/api/monitors', { raw, headers: { 'Content-Type': 'application/json' } });
    expect([status, body.errors]).toMatchObject([422, [{ pointer: '/http/json/equals' }]]);
  });

  function nested(name: string, value: string): object {
    const [first = '', second] = name.split('.');
    return second ? json({ [second]: value }) : { [first]: value };
  }
});

describe('the status', () => {
  /** Makes a monitor down, with an open incident. */
  async function takeDown(id: number) {
    await execute(`update monitors set status = 'down', failures = 3, last_error = 'HTTP 503' where id = ?`, [id]);
    await execute(`insert into incidents (user_id, monitor_id, started_at, cause) values (?, ?, now(), 'HTTP 503')`, [user.id, id]);
  }
  const incidentsOf = async (path: string) =>
    (await user.api.get(`${path}/incidents`)).body.data.map(({ status }: { status: string }) => status);

  test.each([
    ['every default', {}],
    ['every other value', { ...others, headers: [authorization, ...others.headers] }],
  ])('is kept, if a monitor with %s is sent back whole', async (_, http) => {
    const { id, path } = await createMonitor(user, { http });
    await takeDown(id);
    const { data } = (await user.api.get(path)).body;
    const { status, body } = await user.api.put(path, { json: data });
    expect([status, body.data]).toEqual([200, { ...data, updated_at: expect.any(String) }]);
    expect(await incidentsOf(path)).toEqual(['open']);
  });

  test.each([
    { timeout_seconds: 5 },
    { confirmations: 0 },
    { interval: 300 },
    { friendly_name: 'x' },
    { tags: ['a'] },
    { http: {} },
    { http: { method: 'GET' } },
    { http: { tls_warning_days: 30 } },
    { http: { tls_warning_days: null } },
  ])('is kept by %j', async (fields) => {
    const { id, path } = await createMonitor(user);
    await takeDown(id);
    expect((await user.api.put(path, { json: fields })).body.data.status).toBe('down');
    expect(await incidentsOf(path)).toEqual(['open']);
  });

  test.each(Object.entries(others).filter(([name]) => name !== 'tls_warning_days'))(
    'is pending again after a change of %s, and the incident is resolved',
    async (name, value) => {
      const { id, path } = await createMonitor(user);
      await takeDown(id);
      const { body } = await user.api.put(path, { json: { http: { [name]: value } } });
      expect(body.data).toMatchObject({ status: 'pending', last_error: null });
      expect(await incidentsOf(path)).toEqual(['resolved']);
    },
  );

  test('is kept, if a secret is sent again with the same value', async () => {
    const { id, path } = await createMonitor(user, { http: { headers: [authorization] } });
    await takeDown(id);
    expect((await user.api.put(path, { json: { http: { headers: [authorization] } } })).body.data.status).toBe('down');
    expect(await incidentsOf(path)).toEqual(['open']);
  });
});

describe('secrets', () => {
  const http = { headers: [authorization] };

  test('are masked by creation, reading, an update and a check', async () => {
    const { path, data } = await createMonitor(user, { http });
    const updated = await user.api.put(path, { json: { interval: 90 } });
    const responses = [await user.api.get(path), updated, await user.api.post(`${path}/check`)];
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 202]);
    for (const shown of [data, ...responses.map(({ body }) => body.data)]) expect(shown.http.headers).toEqual([masked]);
    expect(JSON.stringify([data, responses])).not.toContain(secret);
  });

  test('and the body are absent in lists', async () => {
    const other = await service.createUser();
    await createMonitor(other, { http: { ...http, body: 'a long body' } });
    const { headers, body, ...options } = defaults;
    const list = await other.api.get('/api/monitors');
    expect(list.body.data[0].http).toEqual(options);
    expect(list.text).not.toContain('Authorization');
  });

  test('are not among the stored rows of their user or of another, also with an Idempotency-Key', async () => {
    const [one, other] = [await service.createUser(), await service.createUser()];
    const post = () => one.api.post('/api/monitors', { json: { ...monitorExample, http }, headers: { 'Idempotency-Key': 'once' } });
    const [first, again] = [await post(), await post()];
    expect([again.status, again.text]).toEqual([201, first.text]);
    const rows = (await storedRows(service.database, [one.id, other.id])).join('\n');
    expect(rows).toContain('idempotent_responses');
    expect(rows).toContain('****7890');
    for (const text of [secret, 'example-token', Buffer.from(secret).toString('base64'), Buffer.from(secret).toString('hex')])
      expect(rows).not.toContain(text);
  });

  test('of a rejected request are neither returned nor logged', async () => {
    const headers = [authorization, { ...authorization, value: `${secret} ` }, { name: `${secret}:`, value: 'v' }];
    const { status, text } = await create({ headers }, { url: 'ftp://example.org' });
    expect([status, text.includes('example-token')]).toEqual([422, false]);
    expect(logged.join()).not.toContain('example-token');
  });

  test('of another user are not found', async () => {
    const { id, path } = await createMonitor(user, { http });
    const other = await service.createUser();
    for (const response of [await other.api.get(path), await other.api.put(path, { json: { http: { headers: [masked] } } })])
      expect([response.status, response.body.detail]).toEqual([404, `Monitor ${id} was not found.`]);
    const { status, body } = await other.api.post('/api/monitors', { json: { ...monitorExample, http: { headers: [masked] } } });
    expect([status, body.errors[0].code]).toEqual([422, 'unknown_mask']);
  });

  test.each([
    ['the same header', [masked], [masked]],
    ['the name in another case', [{ ...masked, name: 'AUTHORIZATION' }], [{ ...masked, name: 'AUTHORIZATION' }]],
    ['no secret field', [{ name: 'Authorization', value: '****7890' }], [masked]],
    ['another position', [{ name: 'Accept', value: 'x' }, masked], [{ name: 'Accept', value: 'x', secret: false }, masked]],
  ])('a mask keeps the secret: %s', async (_, headers, shown) => {
    const { path } = await createMonitor(user, { http });
    const { status, body } = await user.api.put(path, { json: { http: { headers } } });
    expect([status, body.data.http.headers]).toEqual([200, shown]);
  });

  const shop = monitorExample.url;
  test.each([
    ['another header', { http: { headers: [{ ...masked, name: 'X-Other' }] } }],
    ['another mask', { http: { headers: [{ ...masked, value: '****7891' }] } }],
    ['the short mask', { http: { headers: [{ ...masked, value: '****' }] } }],
    ['a header that is no secret', { http: { headers: [{ ...masked, secret: false }] } }],
    ['another host', { url: 'https://other.example.org/health', http: { headers: [masked] } }],
    ['another port', { url: 'https://shop.example.org:8443/health', http: { headers: [masked] } }],
    ['a connection without TLS', { url: 'http://shop.example.org/health', http: { headers: [masked] } }],
    ['a host with a dot at the end', { url: 'https://shop.example.org./health', http: { headers: [masked] } }],
    ['a similar host', { url: 'https://shop.example.org.example.net/', http: { headers: [masked] } }],
  ])('a mask is rejected for %s, and nothing changes', async (_, fields) => {
    const { path, etag } = await createMonitor(user, { http });
    const { status, body } = await user.api.put(path, { json: fields });
    expect([status, body.errors]).toMatchObject([422, [{ pointer: '/http/headers/0/value', code: 'unknown_mask' }]]);
    expect((await user.api.get(path, { headers: { 'If-None-Match': etag } })).status).toBe(304);
  });

  test.each([`${shop}?a=1`, 'https://SHOP.example.org/other', 'https://shop.example.org:443/', 'HTTPS://shop.example.org/'])(
    'are kept for the same origin, %s',
    async (url) => {
      const { path } = await createMonitor(user, { http });
      const { status, body } = await user.api.put(path, { json: { url } });
      expect([status, body.data.http.headers]).toEqual([200, [masked]]);
    },
  );

  test.each([{ url: 'https://other.example.org/' }, { url: 'https://other.example.org/', http: { method: 'POST' } }])(
    'must be sent again, if the origin changes: %j',
    async (fields) => {
      const { path, data } = await createMonitor(user, { http });
      const { status, body } = await user.api.put(path, { json: fields });
      expect([status, body.errors]).toEqual([
        422,
        [
          {
            in: 'body',
            pointer: '/http/headers',
            code: 'secrets_needed',
            message: 'must be sent with the full values of secret headers, because the origin of url changes or verify_tls is turned off',
          },
        ],
      ]);
      expect((await user.api.get(path)).body.data).toEqual(data);
      expect((await user.api.put(path, { json: { ...fields, http } })).status).toBe(200);
      expect((await user.api.put(path, { json: { url: shop, http: { headers: [] } } })).status).toBe(200);
    },
  );

  test('plain headers are kept, if the origin changes', async () => {
    const { path } = await createMonitor(user, { http: others });
    const { status, body } = await user.api.put(path, { json: { url: 'https://other.example.org/' } });
    expect([status, body.data.http.headers]).toEqual([200, others.headers]);
  });

  test.each([
    ['ping', 'shop.example.org'],
    ['tcp', 'tcp://shop.example.org:443'],
    ['heartbeat', undefined],
  ])('are gone after the type was %s', async (type, url) => {
    const { path } = await createMonitor(user, { http });
    expect((await user.api.put(path, { json: { type, ...(url && { url }) } })).status).toBe(200);
    const { status, body } = await user.api.put(path, { json: { type: 'http', url: shop, http: { headers: [masked] } } });
    expect([status, body.errors[0].code]).toEqual([422, 'unknown_mask']);
    expect((await user.api.put(path, { json: { type: 'http', url: shop } })).body.data.http.headers).toEqual([]);
  });

  test.each([{}, { url: `${shop}?a=1` }])('are not kept by a mask, if the origin changes before the write of %j', async (fields) => {
    const { id, path } = await createMonitor(user, { http });
    const moved = 'https://evil.example.net/';
    changeBeforeUpdate(service.database, 'monitors', () =>
      execute(`update monitors set url = ?, settings = settings - 'headers', version = version + 1 where id = ?`, [moved, id]),
    );
    const { status, body } = await user.api.put(path, { json: { ...fields, http: { headers: [masked] } } });
    expect([status, body.errors[0].code]).toEqual([422, 'unknown_mask']);
    expect((await user.api.get(path)).body.data).toMatchObject({ url: moved, http: { headers: [] } });
  });

  test('the summary of a check has at most 4096 characters, whatever the options are', async () => {
    const odd = '\u0001'.repeat(200);
    const { path } = await createMonitor(user, {
      url: `https://shop.example.org/${'x'.repeat(2000)}`,
      http: { body_contains: odd, body_not_contains: odd.replace('\u0001', 'x'), json: { pointer: `/${'a'.repeat(199)}`, equals: odd } },
    });
    const { status, body } = await user.api.post(`${path}/check`);
    expect([status, body.check.summary.length <= 4096]).toEqual([202, true]);
  });

  // An elephant has two code units. With one of the lengths, the limit is in the middle of one.
  test.each([1500, 1501])('a summary that is cut within a character is well-formed, with %i characters of a path', async (length) => {
    const { path } = await createMonitor(user, {
      url: `https://shop.example.org/${'x'.repeat(length)}`,
      http: {
        body_contains: '\u0001'.repeat(200),
        body_not_contains: '\u0002'.repeat(200),
        json: { pointer: '', equals: '🐘'.repeat(100) },
      },
    });
    const { summary } = (await user.api.post(`${path}/check`)).body.check;
    expect([summary.length, summary.isWellFormed()]).toEqual([4096, true]);
  });
});

describe('a check', () => {
  let target: WebServer;
  let checking: TestService;
  const lines: string[] = [];

  beforeAll(async () => {
    target = await startWebServer({ script: (_, response) => void response.writeHead(500).end(secret) });
    const log = pino({ level: 'trace' }, { write: (line) => void lines.push(line) });
    checking = await startService({ netAllow: ['127.0.0.0/8'] }, { net, log, engine: true });
  });
  afterAll(async () => {
    await checking.stop();
    await target.close();
  });

  test('sends the secret, and neither the log, nor the incident, nor the alert contains it', async () => {
    const owner = await checking.createUser();
    const provider = await createProvider(owner);
    const { path } = await createMonitor(owner, {
      url: target.url,
      confirmations: 0,
      http: { headers: [authorization] },
      is_active: false,
    });
    await owner.api.post(`${path}/notifications`, { json: { provider_id: provider.id } });
    await owner.api.put(path, { json: { is_active: true } });
    await expect.poll(async () => (await owner.api.get(path)).body.data.status, { timeout: 20_000 }).toBe('down');
    expect(target.requests[0]?.headers.authorization).toBe(secret);
    const rows = (await storedRows(checking.database, [owner.id])).join('\n');
    expect(rows).toMatch(/^alerts .*monitor\.down.*Shop/m);
    expect(rows).not.toContain('example-token');
    expect(lines.join()).not.toContain('example-token');
  });
});
