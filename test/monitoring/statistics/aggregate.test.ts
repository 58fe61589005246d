import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Aggregate,
  addCounts,
  emptyAggregate,
  isEmpty,
  mergeAggregates,
  noResponseTimes,
  readAggregate,
  writeAggregate,
} from '../../../src/monitoring/statistics/aggregate.ts';
import { ByteReader, ByteWriter } from '../../../src/monitoring/statistics/varints.ts';
import { aggregateOf, anyAggregate } from './aggregates.ts';

/** Sums of a few of them are still exact. */
const max = 2 ** 50;

function bytesOf(aggregate: Aggregate): Buffer {
  const writer = new ByteWriter();
  writeAggregate(writer, aggregate);
  return writer.finish();
}

function roundTrip(aggregate: Aggregate): Aggregate {
  const reader = new ByteReader(bytesOf(aggregate));
  const read = readAggregate(reader);
  expect(reader.isAtEnd).toBe(true);
  return read;
}

test('an aggregate is read as it was written', () => {
  fc.assert(
    fc.property(anyAggregate(max), (aggregate) => {
      expect(roundTrip(aggregate)).toEqual(aggregate);
    }),
  );
  expect(roundTrip(emptyAggregate)).toEqual(emptyAggregate);
});

test('values beyond 2^32 are read as they were written', () => {
  const long = {
    ...aggregateOf({ observedMs: 2 ** 45 + 1, downMs: 2 ** 44 + 3, incidents: 2 ** 33, checks: 2 ** 34 + 1, failedChecks: 2 ** 32 + 7 }),
    responseTimes: { histogram: { first: 3, counts: [2 ** 33, 1] }, totalMs: 2 ** 48 + 9, minMs: 2, maxMs: 2 ** 31 - 1 },
  };
  expect(roundTrip(long)).toEqual(long);
});

test('an hour without a response time takes few bytes', () => {
  // 3,600,000 ms take 4 bytes, and the other seven numbers 1 each: 0 down, 0 incidents, 60 checks, 60 failed, an empty histogram.
  expect(bytesOf(aggregateOf({ observedMs: 3_600_000, checks: 60, failedChecks: 60 }))).toHaveLength(10);
});

test('the merged aggregate has the sums, the shortest and the longest response time', () => {
  const one = aggregateOf({ observedMs: 60_000, downMs: 5000, incidents: 1, checks: 5, failedChecks: 2, times: [80, 30, 50] });
  const other = aggregateOf({ observedMs: 7000, downMs: 700, incidents: 2, checks: 2, failedChecks: 0, times: [20, 40] });
  const sum = aggregateOf({ observedMs: 67_000, downMs: 5700, incidents: 3, checks: 7, failedChecks: 2, times: [80, 30, 50, 20, 40] });
  expect(mergeAggregates(one, other)).toEqual(sum);
  expect(sum.responseTimes).toMatchObject({ totalMs: 220, minMs: 20, maxMs: 80 });
});

test('it does not matter in which order aggregates are merged, nor which are merged first', () => {
  fc.assert(
    fc.property(anyAggregate(max), anyAggregate(max), anyAggregate(max), (one, second, third) => {
      const expected = mergeAggregates(mergeAggregates(one, second), third);
      expect(mergeAggregates(one, mergeAggregates(second, third))).toEqual(expected);
      expect(mergeAggregates(mergeAggregates(third, one), second)).toEqual(expected);
    }),
  );
});

test('nothing merged with an aggregate is that aggregate', () => {
  fc.assert(
    fc.property(anyAggregate(max), (aggregate) => {
      expect(mergeAggregates(emptyAggregate, aggregate)).toEqual(aggregate);
      expect(mergeAggregates(aggregate, emptyAggregate)).toEqual(aggregate);
    }),
  );
});

test('a merge with failed checks only keeps the response times of the others', () => {
  const failed = aggregateOf({ checks: 3, failedChecks: 3 });
  const succeeded = aggregateOf({ checks: 2, times: [5, 900] });
  for (const merged of [mergeAggregates(failed, succeeded), mergeAggregates(succeeded, failed)]) {
    expect(merged.responseTimes).toEqual(succeeded.responseTimes);
  }
});

test('what was added to counts can be taken away, and sums have no response times', () => {
  fc.assert(
    fc.property(anyAggregate(max), anyAggregate(max), (one, other) => {
      const sum = addCounts(one, other);
      expect(sum).toEqual({ ...mergeAggregates(one, other), responseTimes: noResponseTimes });
      expect(addCounts(sum, other, -1)).toEqual({ ...one, responseTimes: noResponseTimes });
    }),
  );
});

test('an aggregate is empty without observed time, checks and incidents, and only then', () => {
  expect(isEmpty(emptyAggregate)).toBe(true);
  for (const one of [{ observedMs: 1 }, { checks: 1 }, { incidents: 1 }]) expect([one, isEmpty(aggregateOf(one))]).toEqual([one, false]);
});
