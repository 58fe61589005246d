import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteReader, ByteWriter } from '../../../src/monitoring/statistics/varints.ts';

function written(write: (writer: ByteWriter) => void): Buffer {
  const writer = new ByteWriter();
  write(writer);
  return writer.finish();
}

const varint = (value: number) => written((writer) => writer.varint(value));
const endsInside = 'Stored statistics end in the middle of a value.';

test.each([
  [0, [0]],
  [1, [1]],
  [127, [127]],
  [128, [128, 1]],
  [300, [172, 2]],
  [16_383, [255, 127]],
  [16_384, [128, 128, 1]],
  [2 ** 31 - 1, [255, 255, 255, 255, 7]],
  [2 ** 31, [128, 128, 128, 128, 8]],
  [2 ** 32, [128, 128, 128, 128, 16]],
  [2 ** 32 + 1, [129, 128, 128, 128, 16]],
  [2 ** 53 - 1, [255, 255, 255, 255, 255, 255, 255, 15]],
  [2 ** 53, [128, 128, 128, 128, 128, 128, 128, 16]],
])('%d is written seven bits at a time, the lowest first, and read again', (value, bytes) => {
  expect([...varint(value)]).toEqual(bytes);
  const reader = new ByteReader(varint(value));
  expect(reader.varint()).toBe(value);
  expect(reader.isAtEnd).toBe(true);
});

test('any numbers are read as they were written', () => {
  fc.assert(
    fc.property(fc.array(fc.maxSafeNat()), (values) => {
      const reader = new ByteReader(
        written((writer) => {
          for (const value of values) writer.varint(value);
        }),
      );
      expect(values.map(() => reader.varint())).toEqual(values);
      expect(reader.isAtEnd).toBe(true);
    }),
  );
});

test('any bytes and numbers are read in the order in which they were written', () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.maxSafeNat(), fc.integer({ min: 0, max: 255 }), (bytes, number, byte) => {
      const reader = new ByteReader(
        written((writer) => {
          for (const one of bytes) writer.byte(one);
          writer.varint(number);
          writer.byte(byte);
        }),
      );
      expect([...reader.take(bytes.length)]).toEqual([...bytes]);
      expect([reader.varint(), reader.isAtEnd, reader.byte(), reader.isAtEnd]).toEqual([number, false, byte, true]);
    }),
  );
});

test('a reader of nothing is at its end', () => {
  expect(new ByteReader(new Uint8Array()).isAtEnd).toBe(true);
});

test('a reader of a part of a larger buffer reads only that part', () => {
  const reader = new ByteReader(new Uint8Array([9, 2, 65, 66, 9]).subarray(1, 4));
  expect([reader.byte(), [...reader.take(2)], reader.isAtEnd]).toEqual([2, [65, 66], true]);
});

test.each<[string, (reader: ByteReader) => unknown, number[]]>([
  ['a byte', (reader) => reader.byte(), []],
  ['a number', (reader) => reader.varint(), [128]],
  ['several bytes', (reader) => reader.take(3), [1, 2]],
  ['the bytes after a number', (reader) => reader.take(reader.varint()), [2, 1]],
])('stored bytes that end inside of %s are an error', (_, read, bytes) => {
  expect(() => read(new ByteReader(new Uint8Array(bytes)))).toThrow(endsInside);
});
