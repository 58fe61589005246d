import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { describe, expect, test } from 'vitest';
import type { ValidationError } from '../../src/errors.ts';
import type { Operation } from '../../src/http/contract.ts';
import { dropRedundant, escapePointer, findInvalidCharacters, pointerTo, validationErrorsOf } from '../../src/http/validation-errors.ts';

const ajv = new Ajv({ strict: false, allErrors: true, discriminator: true, verbose: true });
formats.default(ajv);

const operation = { parameters: [{ in: 'header', name: 'If-Match', schema: {} }] } as unknown as Operation;

/** The errors of a request of which one part, such as the body, has a schema. */
function errorsOf(part: 'requestBody' | 'query' | 'path' | 'header', schema: object, value: unknown, declared = operation) {
  const validate = ajv.compile({ properties: { [part]: schema } });
  return validate({ [part]: value }) ? [] : validationErrorsOf(validate.errors ?? [], declared);
}

const errorOf = (schema: object, value: unknown) => errorsOf('requestBody', { properties: { field: schema } }, { field: value });

describe('an error has a code and a message', () => {
  test.each<[string, object, unknown, string, string]>([
    ['an integer', { type: 'integer' }, 'x', 'type', 'must be an integer'],
    ['an array', { type: 'array' }, 'x', 'type', 'must be an array'],
    ['an object', { type: 'object' }, 'x', 'type', 'must be an object'],
    ['a string', { type: 'string' }, 1, 'type', 'must be a string'],
    ['a number', { type: 'number' }, 'x', 'type', 'must be a number'],
    ['a boolean', { type: 'boolean' }, 'x', 'type', 'must be true or false'],
    ['one of several values', { enum: ['a', 'b'] }, 'x', 'enum', 'must be one of a, b'],
    ['a constant', { enum: ['a'] }, 'x', 'enum', 'must be a'],
    ['a minimum', { minimum: 5 }, 4, 'minimum', 'must be at least 5'],
    ['a maximum', { maximum: 5 }, 6, 'maximum', 'must be at most 5'],
    ['one character', { minLength: 1 }, '', 'min_length', 'must have at least 1 character'],
    ['several characters', { minLength: 2 }, 'a', 'min_length', 'must have at least 2 characters'],
    ['a length', { maxLength: 2 }, 'abc', 'max_length', 'must have at most 2 characters'],
    ['one item', { minItems: 1 }, [], 'min_items', 'must have at least 1 item'],
    ['several items', { minItems: 2 }, [1], 'min_items', 'must have at least 2 items'],
    ['a number of items', { maxItems: 2 }, [1, 2, 3], 'max_items', 'must have at most 2 items'],
    ['a format', { type: 'string', format: 'ipv4' }, 'x', 'format', 'must be a valid ipv4'],
    ['an e-mail address', { type: 'string', format: 'email' }, 'x', 'format', 'must be an e-mail address'],
    ['a date', { type: 'string', format: 'date-time' }, 'x', 'format', 'must be a date and time such as 2099-12-31T00:00:00Z'],
    ['a URL', { type: 'string', format: 'uri' }, 'x', 'format', 'must be a URL'],
    ['a pattern without a text', { pattern: '^a' }, 'x', 'pattern', 'has an invalid format'],
    ['a pattern with a text', { pattern: '^a', 'x-pattern-message': 'must begin with a' }, 'x', 'pattern', 'must begin with a'],
    ['one of several types', { anyOf: [{ type: 'integer' }, { enum: ['a'] }] }, 'x', 'form', 'has an invalid format'],
    ['another rule', { multipleOf: 2 }, 3, 'invalid', 'must be multiple of 2'],
  ])('%s', (_, schema, value, code, message) => {
    expect(errorOf(schema, value)).toEqual([{ in: 'body', pointer: '/field', code, message }]);
  });

  test.each([
    [[1, 2, 1], '0 and 2'],
    [[3, 1, 1], '1 and 2'],
    [[...Array(12).keys(), 9], '9 and 12'],
  ])('duplicates in %j are named by their indexes in ascending order', (value, indexes) => {
    const message = `must not contain duplicates, but has the same item at the indexes ${indexes}`;
    expect(errorOf({ uniqueItems: true }, value)).toEqual([{ in: 'body', pointer: '/field', code: 'repeated', message }]);
  });

  test('a rule without a message of its own', () => {
    const error = { keyword: 'x', instancePath: '/requestBody', schemaPath: '', params: {} };
    expect(validationErrorsOf([error], operation)).toEqual([{ in: 'body', pointer: '', code: 'invalid', message: 'is not valid' }]);
  });

  test.each(['oneOf', 'anyOf'])('%s has the text of the contract, and its branches are not listed', (keyword) => {
    const schema = {
      [keyword]: [{ type: 'integer' }, { type: 'array', items: { type: 'integer' } }],
      'x-pattern-message': 'must be numbers',
    };
    expect(errorOf(schema, ['x'])).toEqual([{ in: 'body', pointer: '/field', code: 'form', message: 'must be numbers' }]);
  });

  test('an error outside of a oneOf is listed beside it', () => {
    const schema = { properties: { a: { oneOf: [{ type: 'integer' }, { type: 'boolean' }] }, b: { type: 'integer' } } };
    expect(errorsOf('requestBody', schema, { a: 'x', b: 'x' }).map(({ pointer }) => pointer)).toEqual(['/a', '/b']);
  });

  test('if and then report only what is wrong', () => {
    const schema = JSON.parse('{ "if": { "required": ["a"] }, "then": { "required": ["b"] } }');
    expect(errorsOf('requestBody', schema, { a: 1 })).toEqual([{ in: 'body', pointer: '/b', code: 'required', message: 'is required' }]);
  });
});

describe('an error says where it is', () => {
  const integer = { properties: { x: { type: 'integer' } } };

  test.each([
    ['query', { in: 'query', name: 'x' }],
    ['path', { in: 'path', name: 'x' }],
    ['requestBody', { in: 'body', pointer: '/x' }],
  ] as const)('in the part %s', (part, location) => {
    expect(errorsOf(part, integer, { x: 'a' })).toEqual([{ ...location, code: 'type', message: 'must be an integer' }]);
  });

  test('a header has the spelling of the contract, if the contract declares it', () => {
    const headers = { properties: { 'if-match': { type: 'integer' }, other: { type: 'integer' } } };
    expect(errorsOf('header', headers, { 'if-match': 'a', other: 'a' }).map(({ in: location, name }) => [location, name])).toEqual([
      ['header', 'If-Match'],
      ['header', 'other'],
    ]);
  });

  test('a missing field, also in an object of a list', () => {
    const schema = { properties: { list: { items: { required: ['a'] } } }, required: ['b'] };
    expect(errorsOf('requestBody', schema, { list: [{ a: 1 }, {}] })).toEqual([
      { in: 'body', pointer: '/b', code: 'required', message: 'is required' },
      { in: 'body', pointer: '/list/1/a', code: 'required', message: 'is required' },
    ]);
  });

  test('an unknown field, with its name escaped', () => {
    expect(errorsOf('requestBody', { additionalProperties: false }, { 'a/b~c': 1 })).toEqual([
      { in: 'body', pointer: '/a~1b~0c', code: 'unknown_field', message: 'is not a known field' },
    ]);
  });

  test('a field that cannot be changed', () => {
    const schema = { additionalProperties: false, 'x-immutable-properties': ['domain'] };
    expect(errorsOf('requestBody', schema, { domain: 'a', x: 1 }).map(({ message }) => message)).toEqual([
      'cannot be changed after creation',
      'is not a known field',
    ]);
  });

  test('a parameter name is not escaped', () => {
    expect(errorsOf('query', { properties: { 'a/b~c~d/e': { type: 'integer' } } }, { 'a/b~c~d/e': 'x' })[0]?.name).toBe('a/b~c~d/e');
  });
});

describe('a body with variants', () => {
  const variants = { discriminator: 'type', fields: { email: ['type', 'to', 'name'], sms: ['type', 'phone', 'name'], voice: ['phone'] } };
  const declared = { ...operation, body: { variants } } as unknown as Operation;
  const schema = {
    type: 'object',
    discriminator: { propertyName: 'type' },
    oneOf: ['email', 'sms'].map((type) => ({
      properties: { type: { const: type }, to: {}, name: {} },
      required: ['type'],
      additionalProperties: false,
    })),
  };
  const at = (pointer: string, code: string, message: string) => ({ in: 'body', pointer, code, message });

  test('requires the discriminator', () => {
    expect(errorsOf('requestBody', schema, {}, declared)).toEqual([at('/type', 'required', 'is required')]);
  });

  test('lists the variants', () => {
    expect(errorsOf('requestBody', schema, { type: 'x' }, declared)).toEqual([at('/type', 'enum', 'must be one of email, sms, voice')]);
  });

  test('names the variants that have a field', () => {
    expect(errorsOf('requestBody', schema, { type: 'email', phone: 1, other: 1 }, declared)).toEqual([
      at('/phone', 'field_of_other_type', 'is only allowed for type sms or voice'),
      at('/other', 'unknown_field', 'is not a known field'),
    ]);
  });

  test('reports other errors as for any body', () => {
    expect(errorsOf('requestBody', { required: ['to'] }, {}, declared)).toEqual([at('/to', 'required', 'is required')]);
  });
});

describe('dropRedundant', () => {
  const error = (code: string, location: Partial<ValidationError> = { pointer: '/a' }): ValidationError => ({
    in: 'body',
    code,
    message: code,
    ...location,
  });

  test.each([
    ['invalid_character', 'repeated'],
    ['repeated', 'length'],
    ['length', 'min_length'],
    ['min_length', 'enum'],
    ['enum', 'type'],
    ['type', 'minimum'],
    ['minimum', 'maximum'],
    ['maximum', 'pattern'],
  ])('%s is more helpful than %s', (kept, dropped) => {
    expect(dropRedundant([error(dropped), error(kept), error(dropped)])).toEqual([error(kept)]);
  });

  test('keeps the first of several equal errors', () => {
    const [first, second] = [error('type'), error('type')];
    expect(dropRedundant([first, second])[0]).toBe(first);
    expect(dropRedundant([first, second])).toHaveLength(1);
  });

  test('keeps several errors of which none is more helpful', () => {
    expect(dropRedundant([error('pattern'), error('max_length')])).toHaveLength(2);
  });

  test.each([
    ['another field', { pointer: '/b' }],
    ['a parameter of the same name', { in: 'query', name: '/a' }],
  ] as const)('keeps errors of %s', (_, location) => {
    expect(dropRedundant([error('type'), error('pattern', location)])).toHaveLength(2);
  });

  test('keeps errors of different parameters', () => {
    const parameter = (name: string) => error('type', { in: 'query', name });
    expect(dropRedundant([parameter('a'), parameter('b')])).toHaveLength(2);
  });
});

describe('findInvalidCharacters', () => {
  const message = 'must not contain NUL or unpaired surrogate characters';
  const locations = (body: unknown) => findInvalidCharacters({ requestBody: body }).map(({ pointer }) => pointer);

  test.each(['a\u0000b', '\ud800', 'a\udc00'])('finds %j', (text) => {
    expect(findInvalidCharacters({ query: { q: text } })).toEqual([{ in: 'query', name: 'q', code: 'invalid_character', message }]);
  });

  test('accepts other texts, and values that are no text', () => {
    expect(findInvalidCharacters({ requestBody: { a: 'ä€\u{1F600}\u0001', b: 1, c: null, d: true, e: [], f: {} } })).toEqual([]);
  });

  test('finds them at any depth, in lists and in names', () => {
    expect(locations({ a: [{ 'b/c': '\u0000' }] })).toEqual(['/a/0/b~1c']);
    expect(locations({ a: { '\u0000': 1 } })).toEqual(['/a']);
    expect(locations('\u0000')).toEqual(['']);
  });

  test('finds every one', () => {
    expect(locations({ a: '\u0000', b: 'x', c: ['\u0000'] }).toSorted()).toEqual(['/a', '/c/0']);
  });

  test('a pointer into a deeply nested body is cut', () => {
    let nested: unknown = '\u0000';
    for (let depth = 0; depth < 1000; depth++) nested = [nested];
    const [pointer = ''] = locations(nested);
    expect(pointer).toBe(`${'/0'.repeat(128)}…`);
  });
});

describe('pointers', () => {
  test('escape the name of a field', () => {
    expect(escapePointer('~/a~1/b')).toBe('~0~1a~01~1b');
    expect(pointerTo('a/b')).toBe('/a~1b');
  });

  test('have at most 256 characters, then they are cut', () => {
    expect(pointerTo('x'.repeat(255))).toBe(`/${'x'.repeat(255)}`);
    expect(pointerTo('x'.repeat(256))).toBe(`/${'x'.repeat(255)}…`);
  });

  test('are never cut within a character', () => {
    expect(pointerTo(`${'x'.repeat(254)}\u{1F600}`)).toBe(`/${'x'.repeat(254)}\ufffd…`);
  });
});
