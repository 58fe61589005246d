import type { Document } from 'openapi-backend';
import { describe, expect, test } from 'vitest';
import { InvalidRequest } from '../../src/errors.ts';
import type { Body } from '../../src/http/body.ts';
import { Contract } from '../../src/http/contract.ts';
import { type AnyRules, idempotencyKeyOf, readInput } from '../../src/http/input.ts';
import { koaContext } from '../support/koa-context.ts';

const text = { type: 'string', maxLength: 20 };
const json = (schema: object) => ({ content: { 'application/json': { schema } } });
const form = (schema: object) => ({ content: { 'application/x-www-form-urlencoded': { schema } } });
const fields = {
  type: 'object',
  additionalProperties: false,
  properties: {
    name: text,
    count: { type: 'integer', maximum: 9 },
    on: { type: 'boolean' },
    id: { type: 'integer', readOnly: true },
    'a/b~c': { type: 'integer' },
  },
};
const { operations } = await Contract.load({
  openapi: '3.1.0',
  info: { title: 'Things', version: '1' },
  paths: {
    '/things/{id}': {
      get: {
        operationId: 'readThing',
        parameters: [
          { in: 'path', name: 'id', required: true, schema: { type: 'integer' } },
          { in: 'query', name: 'size', schema: { type: 'integer' } },
          { in: 'query', name: 'on', schema: { type: 'boolean' } },
          { in: 'query', name: 'q', schema: text },
          { in: 'header', name: 'If-Match', schema: text },
        ],
        responses: {},
      },
    },
    '/json': {
      post: {
        operationId: 'postJson',
        parameters: [{ in: 'header', name: 'Idempotency-Key', schema: { type: 'string' } }],
        requestBody: json(fields),
        responses: {},
      },
    },
    '/form': { post: { operationId: 'postForm', requestBody: form(fields), responses: {} } },
  },
} as unknown as Document);

interface Request {
  id?: string;
  query?: string;
  headers?: Record<string, string>;
  body?: Body;
  rules?: AnyRules;
}

function read(operationId: string, { id = '1', query = '', headers = {}, body, rules }: Request = {}) {
  const operation = operations.find((candidate) => candidate.id === operationId);
  if (!operation) throw new Error(`There is no operation ${operationId}.`);
  return readInput(koaContext({ url: `/things?${query}`, headers }), operation, { pathParameters: { id }, body, rules });
}

const jsonBody = (value: unknown, bytes = 10): Body => ({ json: value, bytes }) as Body;
const formBody = (pairs: [string, string][], bytes = 10): Body => ({ form: pairs, bytes }) as Body;

function errorsOf(operationId: string, request: Request) {
  try {
    read(operationId, request);
  } catch (error) {
    if (error instanceof InvalidRequest) return error.errors;
    throw error;
  }
  return [];
}

describe('parameters', () => {
  test.each([
    ['0', 0],
    ['7', 7],
    ['-7', -7],
    ['9007199254740991', 9_007_199_254_740_991],
  ])('%s is an integer', (given, id) => expect(read('readThing', { id: given }).path).toEqual({ id }));

  test.each(['', '-', '-0', '07', '1.0', '1e1', '0x1', ' 1', '1 ', 'a1', '12345678901234567'])('"%s" is not an integer', (id) => {
    expect(errorsOf('readThing', { id })).toEqual([{ in: 'path', name: 'id', code: 'type', message: 'must be an integer' }]);
  });

  test.each([
    ['true', true],
    ['True', true],
    ['1', true],
    ['false', false],
    ['False', false],
    ['0', false],
  ])('%s is a boolean', (given, on) => expect(read('readThing', { query: `on=${given}` }).query).toEqual({ on }));

  test.each(['TRUE', '', '2', 'yes'])('"%s" is not a boolean', (given) => {
    expect(errorsOf('readThing', { query: `on=${given}` })).toEqual([
      { in: 'query', name: 'on', code: 'type', message: 'must be true or false' },
    ]);
  });

  test('of the query are decoded, and unknown ones ignored', () => {
    expect(read('readThing', { query: 'q=a%20b+1&size=5&x=1' })).toStrictEqual({
      path: { id: 1 },
      query: { q: 'a b 1', size: 5 },
      header: {},
      body: undefined,
      url: { path: '/things', query: 'q=a%20b+1&size=5&x=1' },
    });
  });

  test('that are texts stay texts', () => expect(read('readThing', { query: 'q=true' }).query).toEqual({ q: 'true' }));

  test('of one kind are not read from another', () => {
    const request = { query: 'If-Match=1&If-Match=2&id=3&id=4', headers: { q: 'x', id: '7' } };
    expect(read('readThing', request)).toMatchObject({ path: { id: 1 }, query: {}, header: {} });
  });

  test('of the query must not be repeated', () => {
    expect(errorsOf('readThing', { query: 'q=a&size=1&q=a' })).toEqual([
      { in: 'query', name: 'q', code: 'repeated', message: 'must not be given more than once' },
    ]);
  });

  test('of the query are not parsed if the operation has none', () => {
    expect(read('postJson', { query: 'q=%', body: jsonBody({}) }).query).toEqual({});
    expect(() => read('readThing', { query: 'q=%' })).toThrow('The query string is not valid percent-encoded UTF-8.');
  });

  test('of the header have names in lower case, and others are left out', () => {
    expect(read('readThing', { headers: { 'if-match': '"a"', 'x-other': '1' } }).header).toEqual({ 'if-match': '"a"' });
    expect(read('readThing', { headers: { 'if-match': '' } }).header).toEqual({ 'if-match': '' });
  });

  test('that contain NUL are rejected for that reason only', () => {
    expect(errorsOf('readThing', { query: 'size=%00' })).toEqual([
      { in: 'query', name: 'size', code: 'invalid_character', message: 'must not contain NUL or unpaired surrogate characters' },
    ]);
  });
});

describe('Idempotency-Key', () => {
  const lengthError = { in: 'header', name: 'Idempotency-Key', code: 'length', message: 'must have 1 to 255 characters' };
  const withKey = (key: string) => ({ headers: { 'idempotency-key': key }, body: jsonBody({}) });

  test.each(['a', 'x'.repeat(255), `"${'x'.repeat(255)}"`])('of 1 to 255 characters is accepted, quotes do not count: %s', (key) => {
    expect(errorsOf('postJson', withKey(key))).toEqual([]);
  });

  test.each(['', '""', 'x'.repeat(256), `"${'x'.repeat(256)}"`])('of another length is rejected: %s', (key) => {
    expect(errorsOf('postJson', withKey(key))).toEqual([lengthError]);
  });

  test.each([
    ['"a"', 'a'],
    ['a', 'a'],
    ['"a', '"a'],
    ['a"', 'a"'],
    ['x"a"', 'x"a"'],
    ['"a"x', '"a"x'],
    ['"a"b"', 'a"b'],
  ])('%s is the key %s', (given, key) => expect(idempotencyKeyOf({ header: { 'idempotency-key': given } })).toBe(key));

  test('is optional', () => expect(idempotencyKeyOf({ header: {} })).toBeUndefined());
});

describe('a JSON body', () => {
  test('is validated, and fields that cannot be changed are dropped', () => {
    expect(read('postJson', { body: jsonBody({ name: 'a', count: 3, id: 5 }) }).body).toEqual({ name: 'a', count: 3 });
    expect(errorsOf('postJson', { body: jsonBody({ id: 'x' }) })).toEqual([
      { in: 'body', pointer: '/id', code: 'type', message: 'must be an integer' },
    ]);
  });

  test('is not parsed further: a text is neither a number nor a boolean', () => {
    const codes = errorsOf('postJson', { body: jsonBody({ count: '3', on: 'true' }) }).map(({ pointer, code }) => [pointer, code]);
    expect(codes).toEqual([
      ['/count', 'type'],
      ['/on', 'type'],
    ]);
  });

  test.each([
    ['null', null],
    ['a text', 'x'],
    ['a list', []],
  ])('must not be %s', (_, value) => {
    expect(errorsOf('postJson', { body: jsonBody(value) })).toEqual([
      { in: 'body', pointer: '', code: 'type', message: 'must be an object' },
    ]);
  });

  test('is not validated if there is none', () => expect(read('postJson').body).toBeUndefined());

  test('that is large is cut before it is validated', () => {
    const long = { name: 'x'.repeat(5000) };
    const body = jsonBody(long, 5010);
    expect(errorsOf('postJson', { body })).toEqual([
      { in: 'body', pointer: '/name', code: 'max_length', message: 'must have at most 20 characters' },
    ]);
    expect(() => read('readThing', { body: jsonBody({}) })).not.toThrow();
  });
});

describe('a form', () => {
  test('has values of the declared types', () => {
    const body = formBody([
      ['name', '7'],
      ['count', '7'],
      ['on', 'True'],
      ['a/b~c', '1'],
    ]);
    expect(read('postForm', { body }).body).toEqual({ name: '7', count: 7, on: true, 'a/b~c': 1 });
  });

  test('without a body is empty', () => expect(read('postForm').body).toEqual({}));

  test('must not repeat a field', () => {
    const body = formBody([
      ['a/b~c', '1'],
      ['a/b~c', '2'],
    ]);
    expect(errorsOf('postForm', { body })).toEqual([
      { in: 'body', pointer: '/a~1b~0c', code: 'repeated', message: 'must not be given more than once' },
    ]);
  });

  test.each(['toString', '__proto__', 'constructor'])('rejects the unknown field %s', (name) => {
    expect(errorsOf('postForm', { body: formBody([[name, '1']]) })).toEqual([
      { in: 'body', pointer: `/${name}`, code: 'unknown_field', message: 'is not a known field' },
    ]);
  });

  test('that is large is cut before it is validated', () => {
    expect(errorsOf('postForm', { body: formBody([['count', '7'.repeat(5000)]], 5010) })).toEqual([
      { in: 'body', pointer: '/count', code: 'type', message: 'must be an integer' },
    ]);
  });
});

describe('rules', () => {
  const nameError = { in: 'body', pointer: '/name', code: 'bad_name', message: 'is bad' } as const;

  test('see the body, and their normal form is what the handler gets', () => {
    const rules: AnyRules = ({ name }) => ({ errors: [], normalized: { name: String(name).toLowerCase() } });
    expect(read('postJson', { body: jsonBody({ name: 'A', count: 1 }), rules }).body).toEqual({ name: 'a', count: 1 });
  });

  test('report errors beside those of the schema', () => {
    const rules: AnyRules = () => ({ errors: [nameError], normalized: {} });
    const errors = errorsOf('postJson', { body: jsonBody({ name: 'a', count: 10 }), rules });
    expect(errors).toEqual([{ in: 'body', pointer: '/count', code: 'maximum', message: 'must be at most 9' }, nameError]);
  });

  test('see only valid fields, and report nothing about the others', () => {
    const seen: unknown[] = [];
    const rules: AnyRules = (body) => {
      seen.push(body);
      return { errors: [nameError], normalized: {} };
    };
    const body = jsonBody({ name: 5, count: 1, 'a/b~c': 'x' });
    const pointers = errorsOf('postJson', { body, rules }).map(({ pointer }) => pointer);
    expect([seen, pointers]).toEqual([[{ count: 1 }], ['/name', '/a~1b~0c']]);
  });

  test('report nothing about a field that violates the schema', () => {
    const rules: AnyRules = () => ({ errors: [nameError], normalized: {} });
    const codes = errorsOf('postJson', { body: jsonBody({ name: 'x'.repeat(21) }), rules }).map(({ code }) => code);
    expect(codes).toEqual(['max_length']);
  });

  test('are not applied to a body that is no object', () => {
    const rules: AnyRules = () => {
      throw new Error('applied');
    };
    for (const value of [null, 'x']) expect(errorsOf('postJson', { body: jsonBody(value), rules })).toHaveLength(1);
  });
});
