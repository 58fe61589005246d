import { expect, test } from 'vitest';
import { cutToBounds } from '../../src/http/bounds.ts';
import type { BodySchema } from '../../src/http/contract.ts';

const large = 100_000;
const cut = (value: unknown, schema: BodySchema) => cutToBounds(value, schema, large);

test('does not change a body of up to 4 KiB', () => {
  const value = { name: 'x'.repeat(4000) };
  expect(cutToBounds(value, { properties: { name: { type: 'string', maxLength: 1 } } }, 4096)).toBe(value);
  expect(cutToBounds(value, { properties: { name: { type: 'string', maxLength: 1 } } }, 4097)).not.toEqual(value);
});

test.each([
  ['one code unit each', 'x'],
  ['two code units each', '\u{1F600}'],
])('cuts a text of characters with %s so that it is still too long, and well-formed', (_, character) => {
  const schema = { type: 'string', maxLength: 100 };
  for (const shift of ['', 'x']) {
    const kept = cut(shift + character.repeat(5000), schema) as string;
    expect([...kept].length).toBeGreaterThan(100);
    expect(kept.length).toBeLessThanOrEqual(204);
    expect(kept.isWellFormed()).toBe(true);
  }
});

test('keeps an unpaired surrogate that the client has sent, so that it is rejected', () => {
  expect(cut('\ud800', { type: 'string', maxLength: 100 })).toBe('\ud800');
});

test('keeps texts and arrays that are within their limits', () => {
  const schema = {
    properties: { name: { type: 'string', maxLength: 5 }, list: { type: 'array', maxItems: 2, items: { type: 'integer' } } },
  };
  const value = { name: '12345', list: [1, 2] };
  expect(cut(value, schema)).toEqual(value);
});

test('cuts a text to the longest of the allowed values, and keeps one without a limit', () => {
  const text = 'x'.repeat(5000);
  expect(cut(text, { enum: ['ab', 'c'] })).toBe('x'.repeat(8));
  expect(cut(text, { type: 'string' })).toBe(text);
  expect(cut(text, { type: 'integer' })).toBe('x'.repeat(4));
});

test('keeps null', () => expect(cut({ a: null }, { properties: { a: { type: 'string', maxLength: 1 } } })).toEqual({ a: null }));

test('cuts an array to one item more than allowed, and its items', () => {
  const schema = { type: 'array', maxItems: 2, items: { type: 'string', maxLength: 3 } };
  expect(cut(Array(5000).fill('x'.repeat(50)), schema)).toEqual(Array(3).fill('x'.repeat(10)));
});

test('keeps all fields, with null as the value of unknown ones', () => {
  const value = { name: 'a', unknown: { nested: ['x'.repeat(5000)] } };
  expect(cut(value, { properties: { name: { type: 'string', maxLength: 5 } } })).toEqual({ name: 'a', unknown: null });
});

test('applies the most generous limit of several variants', () => {
  const schema = { oneOf: [{ properties: { a: { maxLength: 2 } } }, { properties: { a: { maxLength: 10 } } }] };
  expect(cut({ a: 'x'.repeat(20) }, schema)).toEqual({ a: 'x'.repeat(20) });
  expect(cut({ a: 'x'.repeat(100) }, schema)).toEqual({ a: 'x'.repeat(24) });
  expect(cut('x'.repeat(100), { anyOf: [{ type: 'integer' }, { type: 'string', maxLength: 1 }] })).toBe('x'.repeat(6));
});

test('keeps a field named __proto__ as a field', () => {
  const kept = cut(JSON.parse('{"__proto__":{"x":1},"constructor":1}'), { properties: {} }) as object;
  expect(Object.keys(kept)).toEqual(['__proto__', 'constructor']);
  expect(Object.getPrototypeOf(kept)).toBe(Object.prototype);
  expect(Object.getOwnPropertyDescriptor(kept, 'constructor')).toEqual({
    value: null,
    enumerable: true,
    writable: true,
    configurable: true,
  });
});
