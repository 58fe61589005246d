import type { Document } from 'openapi-backend';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Contract, type Operation } from '../../src/http/contract.ts';
import { validationErrorsOf } from '../../src/http/validation-errors.ts';
import { bundles } from '../support/contract-operations.ts';
import { dereference } from '../support/dereference.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { createMonitor, createProvider } from '../support/valid-requests.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

const json = { 'Content-Type': 'application/json' };

test.each([
  ['an array', '[]'],
  ['null', 'null'],
  ['a number out of range', '{"friendly_name":"a","url":"https://example.com","interval":1e400}'],
  ['100,000 nested arrays', '['.repeat(100_000) + ']'.repeat(100_000)],
  ['an unpaired surrogate', '{"friendly_name":"\\ud800","url":"https://example.com"}'],
  ['NUL', '{"friendly_name":"a\\u0000b","url":"https://example.com"}'],
  ['__proto__ and constructor', '{"friendly_name":"a","url":"https://example.com","__proto__":{"x":1},"constructor":{}}'],
  ['no body', ''],
])('returns 422 for %s', async (_, raw) => {
  const { status, body } = await user.api.post('/api/monitors', { headers: json, raw });
  expect([status, body.code]).toEqual([422, 'validation_failed']);
  expect(Object.prototype).not.toHaveProperty('x');
});

test.each(['abc', '0', '-1', '1.0', '1e3', '0x1', '9007199254740993', '%20', '99999999999999999999'])(
  'returns 422 for the id %s of a monitor or a website',
  async (id) => {
    for (const path of ['/api/monitors', '/api/v1/websites']) {
      const { status, body } = await user.api.get(`${path}/${id}`);
      expect([status, body.errors?.[0].name]).toEqual([422, 'id']);
    }
  },
);

test('reports each mistake once', async () => {
  const errorsOf = async (method: string, path: string, options = {}) => (await user.api.request(method, path, options)).body.errors;
  const key = { name: 'K', scopes: ['monitors:read'] };
  expect(await errorsOf('GET', '/api/v1/websites?page=9007199254740991')).toEqual([
    { in: 'query', name: 'page', code: 'maximum', message: expect.stringMatching(/^must be at most \d+$/) },
  ]);
  expect(await errorsOf('POST', '/api/v1/websites', { form: { domain: 'a.example', privacy: 'public' } })).toEqual([
    { in: 'body', pointer: '/privacy', code: 'enum', message: 'must be one of 0, 1, 2' },
  ]);
  expect(await errorsOf('POST', '/api/keys', { json: { ...key, name: '' } })).toEqual([
    { in: 'body', pointer: '/name', code: 'min_length', message: 'must have at least 1 character' },
  ]);
  expect(await errorsOf('POST', '/api/keys', { json: { ...key, name: 'a\u0000b' } })).toEqual([
    { in: 'body', pointer: '/name', code: 'invalid_character', message: 'must not contain NUL or unpaired surrogate characters' },
  ]);
  expect(await errorsOf('POST', '/api/keys', { json: key, headers: { 'Idempotency-Key': '' } })).toEqual([
    { in: 'header', name: 'Idempotency-Key', code: 'length', message: 'must have 1 to 255 characters' },
  ]);
});

test('the detail contains the number of errors, and where each of them is', async () => {
  const detailOf = async (path: string) => (await user.api.get(path)).body.detail;
  expect(await detailOf('/api/monitors/abc')).toBe('The request has 1 validation error: the path parameter "id" must be an integer.');
  expect(await detailOf('/api/v1/websites?page=x&per_page=11')).toMatch(
    /^The request has 2 validation errors: the query parameter "\w+" must be [^;]+; the query parameter "\w+" must be [^;]+\.$/,
  );
  const { body } = await user.api.post('/api/keys', { json: { scopes: ['monitors:read'] } });
  expect(body.detail).toBe('The request has 1 validation error: /name is required.');
  const key = { json: { name: 'K', scopes: ['monitors:read'] }, headers: { 'Idempotency-Key': '' } };
  expect((await user.api.post('/api/keys', key)).body.detail).toBe(
    'The request has 1 validation error: the header "Idempotency-Key" must have 1 to 255 characters.',
  );
});

test('the detail lists the first five errors and the number of the others', async () => {
  const unknown = { a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1 };
  const { body } = await user.api.post('/api/monitors', { json: { friendly_name: 'Shop', url: 'https://example.com', ...unknown } });
  const listed = ['a', 'b', 'c', 'd', 'e'].map((name) => `/${name} is not a known field`).join('; ');
  expect(body.detail).toBe(`The request has 7 validation errors: ${listed}; and 2 more.`);
  expect(body.errors).toHaveLength(7);
});

test.each([
  [100, 'The request has 100 validation errors: ', '; and 95 more.'],
  [101, 'The request has more than 100 validation errors, of which the first 100 are listed: ', '; and more.'],
  [998, 'The request has more than 100 validation errors, of which the first 100 are listed: ', '; and more.'],
])('422 for %i unknown fields lists the first 100', async (count, start, end) => {
  const unknown = Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, 1]));
  const { status, body } = await user.api.post('/api/monitors', {
    json: { friendly_name: 'Shop', url: 'https://example.com', ...unknown },
  });
  expect([status, body.errors.map(({ pointer }: { pointer: string }) => pointer)]).toEqual([
    422,
    Array.from({ length: 100 }, (_, index) => `/f${index}`),
  ]);
  expect([body.detail.slice(0, start.length), body.detail.slice(-end.length)]).toEqual([start, end]);
});

test('422 for more than 1,000 fields in all, also nested ones, lists one error', async () => {
  const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, 1]));
  for (const json of [fields(1001), { a: fields(500), b: fields(499) }, fields(9000)]) {
    const { status, body } = await user.api.post('/api/monitors', { json });
    const error = { in: 'body', pointer: '', code: 'max_properties', message: 'must have at most 1000 fields' };
    expect([status, body.errors]).toEqual([422, [error]]);
  }
  const { status, body } = await user.api.post('/api/monitors', { json: fields(20_000) });
  const error = { in: 'body', pointer: '', code: 'max_items', message: 'must not have that many values' };
  expect([status, body.errors]).toEqual([422, [error]]);
});

test('limits the size of a 422 response, whatever the body contains', async () => {
  // The client checks each response against the contract, which limits the number of errors and the length of a pointer.
  const bodies = [
    `${'['.repeat(20_000)}${'"\\u0000",'.repeat(20_000)}1${']'.repeat(20_000)}`,
    `{${Array.from({ length: 20_000 }, (_, index) => `"f${index}":1`).join()}}`,
    `{"${'x'.repeat(100_000)}":1}`,
  ];
  for (const raw of bodies) {
    const { status, text } = await user.api.post('/api/monitors', { headers: json, raw });
    expect(status).toBe(422);
    expect(text.length).toBeLessThan(64 * 1024);
  }
});

describe('messages about patterns', () => {
  const blankName = 'must contain a character other than spaces, and no control characters';
  const chatId = 'must be a chat id, such as -1001234567890, or the name of a public channel, such as @example_alerts';

  test.each([
    ['monitor', { url: 'https://example.com/a b' }, '/url', 'pattern', 'must not contain spaces or control characters'],
    ['monitor', { friendly_name: 'a\nb' }, '/friendly_name', 'pattern', blankName],
    ['monitor', { friendly_name: '   ' }, '/friendly_name', 'pattern', blankName],
    ['sms', { phone_number: '0151' }, '/phone_number', 'pattern', 'must be a phone number in E.164 format, such as +15005550006'],
    ['telegram', { chat_id: 'nobody' }, '/chat_id', 'form', chatId],
    ['telegram', { chat_id: true }, '/chat_id', 'form', chatId],
    ['slack', { webhook_url: 'no URL' }, '/webhook_url', 'form', 'must be a URL, or the masked value that the API returned'],
  ])('an update of a %s with %j returns the text of the contract', async (kind, body, pointer, code, message) => {
    const sender = { service, user };
    const path =
      kind === 'monitor' ? `/api/monitors/${await createMonitor(sender)}` : `/api/providers/${await createProvider(sender, kind)}`;
    const response = await user.api.put(path, { json: body });
    expect(response.status).toBe(422);
    expect(response.body.errors).toEqual([{ in: 'body', pointer, code, message }]);
  });

  test('a header that violates its pattern returns the text of the contract', async () => {
    const monitorId = await createMonitor({ service, user });
    const { status, body } = await user.api.get(`/api/monitors/${monitorId}`, { headers: { 'If-None-Match': '"\xe9"' } });
    expect([status, body.errors]).toEqual([
      422,
      [{ in: 'header', name: 'If-None-Match', code: 'pattern', message: 'must contain only printable ASCII characters' }],
    ]);
  });
});

interface Schema {
  pattern?: string;
  'x-pattern-message'?: string;
  oneOf?: Schema[];
  anyOf?: Schema[];
  discriminator?: object;
}

interface RequestDefinition {
  parameters?: { schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

/** Characters that are in regular expressions, and in no message for people. */
const regularExpression = /[\^\\[\]]/;

describe.each(Object.entries(bundles))('the contract of %s', (_, bundle) => {
  /** Every schema that describes a part of a request, at any depth. */
  function requestSchemas(): Schema[] {
    const { paths } = dereference(bundle) as { paths: Record<string, Record<string, RequestDefinition>> };
    const definitions = Object.values(paths).flatMap(({ parameters, ...methods }) => [{ parameters }, ...Object.values(methods)]);
    const roots = (definitions as RequestDefinition[]).flatMap(({ parameters = [], requestBody }) => [
      ...parameters.map(({ schema }) => schema),
      ...Object.values(requestBody?.content ?? {}).map(({ schema }) => schema),
    ]);
    const schemas = new Set<Schema>();
    const visit = (value: unknown) => {
      if (typeof value !== 'object' || value === null || schemas.has(value)) return;
      schemas.add(value);
      for (const child of Object.values(value)) visit(child);
    };
    for (const root of roots) visit(root);
    return [...schemas];
  }

  test('has a message for each pattern, and for each choice between types, in requests', () => {
    const needMessage = requestSchemas().filter(
      ({ pattern, oneOf, anyOf, discriminator }) => typeof pattern === 'string' || ((oneOf ?? anyOf) && !discriminator),
    );
    expect(needMessage.length).toBeGreaterThan(5);
    for (const schema of needMessage) {
      expect(schema).toHaveProperty('x-pattern-message', expect.stringMatching(/^must /));
      expect(schema['x-pattern-message']).not.toMatch(regularExpression);
    }
  });

  test('no invalid value of any parameter or field returns a regular expression', async () => {
    const { operations } = await Contract.load(structuredClone(bundle) as unknown as Document);
    const errors = operations.flatMap((operation) =>
      invalidRequests(operation).flatMap((request) =>
        operation.validators().flatMap((validate) => (validate(request) ? [] : validationErrorsOf(validate.errors ?? [], operation))),
      ),
    );
    const messages = [...new Set(errors.map(({ message }) => message))];
    expect(messages.length).toBeGreaterThan(10);
    expect(messages.filter((message) => regularExpression.test(message))).toEqual([]);
    // Every error about a pattern has a message of the contract, so that none falls back to a general one.
    const declared = new Set(requestSchemas().map((schema) => schema['x-pattern-message']));
    const aboutPatterns = new Set(errors.filter(({ code }) => code === 'pattern').map(({ message }) => message));
    expect(aboutPatterns.size).toBeGreaterThan(1);
    expect([...aboutPatterns].filter((message) => !declared.has(message))).toEqual([]);
  });
});

const invalidValues = [null, true, -1, 1.5, '', ' ', '\u0000', '\u0001', 'x', '\u2603', 'x'.repeat(3000), [], ['x', 'x'], [null], {}];

/** Requests with one invalid value each, for every parameter and every field of the body, in the form that readInput validates. */
function invalidRequests({ parameters, body }: Operation): object[] {
  const empty = { path: {}, query: {}, header: {}, requestBody: {} };
  const { fields = {}, variants } = body ?? {};
  // A body with variants is validated only if the discriminator names one of them.
  const bodies = variants
    ? Object.entries(variants.fields).map(([variant, names]) => ({ base: { [variants.discriminator]: variant }, names }))
    : [{ base: {}, names: Object.keys(fields) }];
  return invalidValues.flatMap((value) => [
    ...parameters.map(({ in: part, name }) => ({ ...empty, [part]: { [part === 'header' ? name.toLowerCase() : name]: value } })),
    ...bodies.flatMap(({ base, names }) => names.map((name) => ({ ...empty, requestBody: { ...base, [name]: value } }))),
  ]);
}
