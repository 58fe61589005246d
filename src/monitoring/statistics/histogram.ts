import type { ByteReader, ByteWriter } from './varints.ts';

/**
 * How many response times there were of each length. The buckets grow by 2^(1/8), as those of native histograms of Prometheus with
 * schema 3 do, so that a percentile is at most 4.4 % from the exact value. Histograms of hours add up to that of a day.
 */
export interface Histogram {
  /** The index of the first bucket with a count. Bucket 0 ends at 1 ms. */
  first: number;
  /** The counts from that bucket on. Empty if there is no response time. */
  counts: number[];
}

const bucketsPerDoubling = 8;

export const emptyHistogram: Histogram = { first: 0, counts: [] };

/** Counts response times, which are at least 1 ms. */
export function histogramOf(timesMs: readonly number[]): Histogram {
  if (timesMs.length === 0) return emptyHistogram;
  const indexes = timesMs.map(bucketOf);
  let [first, last] = [Number.POSITIVE_INFINITY, 0];
  for (const index of indexes) {
    first = Math.min(first, index);
    last = Math.max(last, index);
  }
  const counts = new Array<number>(last - first + 1).fill(0);
  for (const index of indexes) counts[index - first] = (counts[index - first] ?? 0) + 1;
  return { first, counts };
}

/** The sum of two histograms. */
export function mergeHistograms(one: Histogram, other: Histogram): Histogram {
  if (one.counts.length === 0) return other;
  if (other.counts.length === 0) return one;
  const first = Math.min(one.first, other.first);
  const end = Math.max(one.first + one.counts.length, other.first + other.counts.length);
  const counts = new Array<number>(end - first).fill(0);
  for (const { first: start, counts: added } of [one, other]) {
    added.forEach((count, index) => {
      counts[start + index - first] = (counts[start + index - first] ?? 0) + count;
    });
  }
  return { first, counts };
}

export function countOf({ counts }: Histogram): number {
  let sum = 0;
  for (const count of counts) sum += count;
  return sum;
}

/** The response times that these shares of all response times do not exceed, such as 0.95, in order. Each is the middle of its bucket. */
export function percentilesOf(histogram: Histogram, shares: readonly number[]): number[] {
  const { first, counts } = histogram;
  const count = countOf(histogram);
  if (count === 0) throw new RangeError('A histogram without response times has no percentiles.');
  let seen = 0;
  let index = -1;
  return shares.map((share) => {
    const rank = Math.max(1, Math.ceil(count * share));
    while (seen < rank) seen += counts[++index] ?? 0;
    return 2 ** ((first + index - 0.5) / bucketsPerDoubling);
  });
}

/** The bucket ends at its upper bound, so that powers of two are the last of their buckets. */
function bucketOf(ms: number): number {
  return Math.max(0, Math.ceil(Math.log2(ms) * bucketsPerDoubling));
}

export function writeHistogram(writer: ByteWriter, { first, counts }: Histogram) {
  writer.varint(first);
  writer.varint(counts.length);
  for (const count of counts) writer.varint(count);
}

export function readHistogram(reader: ByteReader): Histogram {
  const first = reader.varint();
  const counts = new Array<number>(reader.varint());
  for (let index = 0; index < counts.length; index++) counts[index] = reader.varint();
  return { first, counts };
}
