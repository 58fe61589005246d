import { expect, test } from 'vitest';
import { parseUrlencoded } from '../../src/http/urlencoded.ts';

test.each([
  ['nothing', '', []],
  ['one field', 'a=1', [['a', '1']]],
  [
    'several fields, also with the same name, in their order',
    'b=1&a=2&b=3',
    [
      ['b', '1'],
      ['a', '2'],
      ['b', '3'],
    ],
  ],
  ['a field without a value', 'a', [['a', '']]],
  ['an empty value', 'a=', [['a', '']]],
  ['an empty name', '=1', [['', '1']]],
  ['a value with an equals sign', 'a=b=c', [['a', 'b=c']]],
  ['plus as a space, everywhere', 'a+b+c=d+e+f', [['a b c', 'd e f']]],
  ['percent-encoded UTF-8 in the name and the value', '%C3%A4=%E2%82%AC%2B', [['ä', '€+']]],
  ['empty parts, which are dropped', '&&a=1&&', [['a', '1']]],
])('parses %s', (_, text, fields) => expect(parseUrlencoded(text, 'The form')).toEqual(fields));

test.each(['a=%', 'a=%zz', 'a=%C3', '%FF=1'])('rejects %s', (text) => {
  expect(() => parseUrlencoded(text, 'The query string')).toThrow(
    expect.objectContaining({ code: 'malformed_encoding', message: 'The query string is not valid percent-encoded UTF-8.' }),
  );
});

test('rejects more fields than allowed', () => {
  expect(parseUrlencoded('a&b', 'The form', { maxFields: 2 })).toHaveLength(2);
  expect(() => parseUrlencoded('a&b&c', 'The form', { maxFields: 2 })).toThrow(
    expect.objectContaining({
      code: 'validation_failed',
      errors: [{ in: 'body', pointer: '', code: 'max_properties', message: 'must have at most 2 fields' }],
    }),
  );
});
