import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  countOf,
  emptyHistogram,
  type Histogram,
  histogramOf,
  mergeHistograms,
  percentilesOf,
  readHistogram,
  writeHistogram,
} from '../../../src/monitoring/statistics/histogram.ts';
import { ByteReader, ByteWriter } from '../../../src/monitoring/statistics/varints.ts';

/** Numbers from 0 to 1, the same in every run. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

type Draw = (random: () => number) => number;

const normal: Draw = (random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
const oneOf =
  (...values: number[]): Draw =>
  (random) =>
    values[Math.floor(random() * values.length)] ?? 0;

/** Response times in milliseconds. They are rounded up, and are 1 ms at least, as recorded ones are. */
const distributions: Record<string, Draw> = {
  'uniform from 1 to 10 ms': (random) => 10 * random(),
  'uniform from 1 to 1000 ms': (random) => 1000 * random(),
  'uniform from 100 to 200 ms': (random) => 100 + 100 * random(),
  'uniform from 1 to 60,000 ms': (random) => 60_000 * random(),
  'normal, narrow': (random) => 170 + 10 * normal(random),
  'normal, wide': (random) => 500 + 150 * normal(random),
  'lognormal, fast': (random) => 15 * Math.exp(0.4 * normal(random)),
  'lognormal, usual': (random) => 180 * Math.exp(0.5 * normal(random)),
  'lognormal, wide': (random) => 300 * Math.exp(1.5 * normal(random)),
  'bimodal, half and half': (random) => (random() < 0.5 ? 20 : 900) + 15 * random(),
  'bimodal, 5 % slow': (random) => (random() < 0.95 ? 80 + 40 * random() : 5000 + 2000 * random()),
  'bimodal, 1 % slow': (random) => (random() < 0.99 ? 80 + 40 * random() : 9000 + 1000 * random()),
  'constant 1 ms': () => 1,
  'constant 237 ms': () => 237,
  exponential: (random) => -200 * Math.log(1 - random()),
  'heavy-tailed (Pareto)': (random) => Math.min(60_000, 30 / (1 - random()) ** (1 / 1.1)),
  'heavy-tailed (Cauchy)': (random) => Math.min(60_000, Math.abs(100 + 20 * Math.tan(Math.PI * (random() - 0.5)))),
  'five values': oneOf(12, 13, 170, 171, 4000),
  'steps at powers of two': oneOf(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
  'steps just above powers of two': oneOf(3, 5, 9, 17, 33, 65, 129, 257, 513, 1025),
};

const sizes = [1, 2, 7, 60, 1440, 20_000];
const percents = [50, 95, 99];

function sampleOf(draw: Draw, size: number): number[] {
  const random = randomNumbers(size);
  return Array.from({ length: size }, () => Math.max(1, Math.ceil(draw(random))));
}

/** The value at the nearest rank. */
function exactPercentile(times: number[], percent: number): number {
  const sorted = times.toSorted((one, other) => one - other);
  return sorted[Math.ceil((percent * sorted.length) / 100) - 1] ?? Number.NaN;
}

interface Miss {
  percent: number;
  of: string;
}

/** How far percentiles of a distribution are from the exact ones, in percent of these. */
function missesOf(name: string, draw: Draw): Miss[] {
  return sizes.flatMap((size) => {
    const times = sampleOf(draw, size);
    const histogram = histogramOf(times);
    return percentilesOf(histogram, [0.5, 0.95, 0.99]).map((percentile, index) => {
      const percent = percents[index] ?? 0;
      const exact = exactPercentile(times, percent);
      const miss = Math.abs(percentile - exact) / exact;
      return { percent: Math.round(miss * 10_000) / 100, of: `p${percent} of ${size} times, ${name}: ${exact} ms` };
    });
  });
}

describe('the percentiles 50, 95 and 99 are at most 5 % from the exact ones', () => {
  test.each(Object.entries(distributions))('%s', (name, draw) => {
    expect(missesOf(name, draw).filter(({ percent }) => percent > 5)).toEqual([]);
  });

  test('the worst of 20 distributions is more than 4 % and less than 5 % from the exact one', () => {
    const misses = Object.entries(distributions).flatMap(([name, draw]) => missesOf(name, draw));
    expect(misses).toHaveLength(20 * sizes.length * percents.length);
    const worst = misses.reduce((one, other) => (one.percent > other.percent ? one : other));
    console.log(`The worst percentile is ${worst.percent} % from the exact one: ${worst.of}.`);
    expect(worst.percent).toBeGreaterThan(4);
    expect(worst.percent).toBeLessThan(5);
  });

  test('every time from 1 ms to 100 s', () => {
    let most = 0;
    for (let ms = 1; ms <= 100_000; ms++) most = Math.max(most, Math.abs((percentilesOf(histogramOf([ms]), [0.5])[0] ?? 0) - ms) / ms);
    expect(most).toBeGreaterThan(0.04);
    expect(most).toBeLessThanOrEqual(2 ** (1 / 16) - 1);
  });
});

test('a percentile is that of the nearest rank', () => {
  // 100 times that are far apart: that of rank n is in the nth bucket that is not empty.
  const times = Array.from({ length: 100 }, (_, index) => 2 ** (1 + index / 5));
  const histogram = histogramOf(times);
  const ranks = [
    [0, 1],
    [0.001, 1],
    [0.01, 1],
    [0.011, 2],
    [0.5, 50],
    [0.501, 51],
    [0.95, 95],
    [0.95, 95],
    [0.99, 99],
    [1, 100],
  ] as const;
  const isClose = (one: number, other: number) => Math.abs(Math.log2(one / other)) <= 1 / 16;
  const all = percentilesOf(
    histogram,
    ranks.map(([share]) => share),
  );
  ranks.forEach(([share, rank], index) => {
    expect([share, isClose(all[index] ?? 0, times[rank - 1] ?? 0)]).toEqual([share, true]);
    expect(percentilesOf(histogram, [share])).toEqual([all[index]]);
  });
});

test('buckets end at their upper bounds, which grow by the eighth root of two', () => {
  expect(histogramOf([1])).toEqual({ first: 0, counts: [1] });
  expect(histogramOf([2])).toEqual({ first: 8, counts: [1] });
  expect(histogramOf([1024])).toEqual({ first: 80, counts: [1] });
  expect(histogramOf([1025])).toEqual({ first: 81, counts: [1] });
  expect(histogramOf([2, 1, 2, 3])).toEqual({ first: 0, counts: [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1] });
});

test('without response times a histogram is empty and has no percentiles', () => {
  expect(histogramOf([])).toEqual(emptyHistogram);
  expect(emptyHistogram).toEqual({ first: 0, counts: [] });
  expect(countOf(emptyHistogram)).toBe(0);
  expect(() => percentilesOf(emptyHistogram, [0.5])).toThrow(new RangeError('A histogram without response times has no percentiles.'));
});

const times = fc.array(fc.integer({ min: 1, max: 120_000 }), { maxLength: 50 });

test('merged histograms are that of all response times', () => {
  fc.assert(
    fc.property(times, times, (some, others) => {
      expect(mergeHistograms(histogramOf(some), histogramOf(others))).toEqual(histogramOf([...some, ...others]));
    }),
  );
});

test('the order in which histograms are merged does not matter', () => {
  fc.assert(
    fc.property(fc.array(times, { minLength: 1, maxLength: 6 }), (hours) => {
      const histograms = hours.map(histogramOf);
      const expected = histogramOf(hours.flat());
      expect(histograms.reduce(mergeHistograms)).toEqual(expected);
      expect(histograms.reduceRight((sum, next) => mergeHistograms(next, sum))).toEqual(expected);
    }),
  );
});

test('a merge leaves the merged histograms as they were', () => {
  const [one, other] = [histogramOf([5, 7]), histogramOf([7, 900])];
  mergeHistograms(one, other);
  expect([one, other]).toEqual([histogramOf([5, 7]), histogramOf([7, 900])]);
});

test('the count is the number of response times', () => {
  fc.assert(
    fc.property(times, (all) => {
      expect(countOf(histogramOf(all))).toBe(all.length);
    }),
  );
});

test('half a million response times, more than a function has arguments, are counted', () => {
  expect(countOf(histogramOf(new Array(500_000).fill(3)))).toBe(500_000);
});

function roundTrip(histogram: Histogram): Histogram {
  const writer = new ByteWriter();
  writeHistogram(writer, histogram);
  const reader = new ByteReader(writer.finish());
  const read = readHistogram(reader);
  expect(reader.isAtEnd).toBe(true);
  return read;
}

test('a histogram is read as it was written', () => {
  expect(roundTrip(emptyHistogram)).toEqual(emptyHistogram);
  fc.assert(
    fc.property(times, (all) => {
      expect(roundTrip(histogramOf(all))).toEqual(histogramOf(all));
    }),
  );
});

test('counts beyond 2^31 are merged and read as they were written, and have percentiles', () => {
  const many: Histogram = { first: 40, counts: [2 ** 31 + 5, 0, 2 ** 40 + 1, 2 ** 52] };
  expect(roundTrip(many)).toEqual(many);
  expect(countOf(many)).toBe(2 ** 31 + 5 + 2 ** 40 + 1 + 2 ** 52);
  expect(mergeHistograms(many, { first: 42, counts: [2 ** 40] }).counts[2]).toBe(2 ** 41 + 1);
  expect(percentilesOf(many, [1e-8, 0.99])).toEqual([2 ** ((40 - 0.5) / 8), 2 ** ((43 - 0.5) / 8)]);
});
