import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Chunk, decodeChunk, encodeChunk } from '../../../src/monitoring/statistics/chunk.ts';
import { aggregateOf, anyAggregate } from './aggregates.ts';

const anyChunk: fc.Arbitrary<Chunk> = fc
  .uniqueArray(fc.tuple(fc.integer({ min: 0, max: 31 }), anyAggregate(2 ** 53 - 1)), { selector: ([number]) => number, maxLength: 31 })
  .map((entries) => new Map(entries));

test('the aggregates of a row are decoded as they were encoded, each with its number', () => {
  fc.assert(
    fc.property(anyChunk, (chunk) => {
      expect([...decodeChunk(encodeChunk(chunk))]).toEqual([...chunk]);
    }),
    { numRuns: 50 },
  );
});

test('a row that does not exist has no aggregates, and neither has an empty one', () => {
  expect(decodeChunk(undefined)).toEqual(new Map());
  expect(decodeChunk(encodeChunk(new Map()))).toEqual(new Map());
});

test('the 24 hours of a day with checks every minute fit into a page of 2 KiB', () => {
  const times = Array.from({ length: 60 }, (_, index) => 150 + ((index * 7919) % 100));
  const hour = aggregateOf({ observedMs: 3_600_000, checks: 60, times });
  expect(encodeChunk(new Map(Array.from({ length: 24 }, (_, number) => [number, hour]))).length).toBeLessThan(2048);
});

test('bytes that end inside of an aggregate are an error', () => {
  const bytes = encodeChunk(new Map([[3, aggregateOf({ observedMs: 1000, checks: 1, times: [20] })]]));
  expect(() => decodeChunk(bytes.subarray(0, -1))).toThrow('Stored statistics end in the middle of a value.');
});
