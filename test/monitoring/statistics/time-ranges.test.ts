import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clip, lengthOf, type TimeRange, union } from '../../../src/monitoring/statistics/time-ranges.ts';

const range = (fromMs: number, toMs: number): TimeRange => ({ fromMs, toMs });
const forever = Number.POSITIVE_INFINITY;

test.each<[string, TimeRange, TimeRange[]]>([
  ['inside', range(12, 15), [range(12, 15)]],
  ['the same', range(10, 20), [range(10, 20)]],
  ['beyond both ends', range(5, 25), [range(10, 20)]],
  ['beyond the start', range(5, 12), [range(10, 12)]],
  ['beyond the end', range(18, 25), [range(18, 20)]],
  ['without an end', range(12, forever), [range(12, 20)]],
  ['before', range(1, 9), []],
  ['until the start', range(1, 10), []],
  ['from the end on', range(20, 30), []],
  ['after', range(21, 30), []],
  ['empty', range(15, 15), []],
  ['reversed', range(16, 14), []],
  ['reversed around the end', range(25, 15), []],
])('a range %s is clipped to that from 10 to 20', (_, given, expected) => {
  expect(clip([given], range(10, 20))).toEqual(expected);
});

test('several ranges are clipped in their order', () => {
  expect(clip([range(18, 30), range(0, 11), range(13, 14)], range(10, 20))).toEqual([range(18, 20), range(10, 11), range(13, 14)]);
});

test('the length of ranges is the sum of theirs', () => {
  expect(lengthOf([])).toBe(0);
  expect(lengthOf([range(3, 10)])).toBe(7);
  expect(lengthOf([range(3, 10), range(20, 25)])).toBe(12);
});

test.each<[string, TimeRange[], TimeRange[]]>([
  ['nothing', [], []],
  ['one', [range(1, 5)], [range(1, 5)]],
  ['apart', [range(1, 5), range(6, 7)], [range(1, 5), range(6, 7)]],
  ['not in order', [range(6, 7), range(1, 5)], [range(1, 5), range(6, 7)]],
  ['overlapping', [range(1, 5), range(4, 7)], [range(1, 7)]],
  ['touching', [range(1, 5), range(5, 7)], [range(1, 7)]],
  ['one in the other', [range(1, 9), range(4, 7)], [range(1, 9)]],
  ['the same twice', [range(1, 9), range(1, 9)], [range(1, 9)]],
  ['bridged by a third', [range(1, 4), range(6, 9), range(3, 7)], [range(1, 9)]],
  ['without an end', [range(5, forever), range(7, 9)], [range(5, forever)]],
])('the union of ranges: %s', (_, given, expected) => {
  expect(union(given)).toEqual(expected);
});

test('the union leaves the given ranges as they are', () => {
  const given = [range(4, 7), range(1, 5)];
  union(given);
  expect(given).toEqual([range(4, 7), range(1, 5)]);
});

const anyRanges = fc.array(
  fc.tuple(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 1, max: 30 })).map(([from, length]) => range(from, from + length)),
  { maxLength: 8 },
);
/** The milliseconds that ranges cover. */
const covered = (ranges: TimeRange[]) =>
  Array.from({ length: 140 }, (_, ms) => ms).filter((ms) => ranges.some(({ fromMs, toMs }) => ms >= fromMs && ms < toMs));

test('the union of any ranges covers the same time, once', () => {
  fc.assert(
    fc.property(anyRanges, (ranges) => {
      const merged = union(ranges);
      expect(covered(merged)).toEqual(covered(ranges));
      expect(lengthOf(merged)).toBe(covered(ranges).length);
      merged.slice(1).forEach(({ fromMs }, index) => {
        expect(fromMs).toBeGreaterThan(merged[index]?.toMs ?? forever);
      });
    }),
  );
});

test('any clipped ranges cover what they covered in the other one', () => {
  fc.assert(
    fc.property(anyRanges, fc.integer({ min: 0, max: 100 }), fc.integer({ min: 1, max: 40 }), (ranges, fromMs, length) => {
      const expected = covered(ranges).filter((ms) => ms >= fromMs && ms < fromMs + length);
      expect(covered(clip(ranges, range(fromMs, fromMs + length)))).toEqual(expected);
    }),
  );
});
