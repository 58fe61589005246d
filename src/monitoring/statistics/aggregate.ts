import { countOf, emptyHistogram, type Histogram, mergeHistograms, readHistogram, writeHistogram } from './histogram.ts';
import type { ByteReader, ByteWriter } from './varints.ts';

/** What has happened to a monitor in a period of time. Aggregates of adjacent periods add up to that of both. */
export interface Aggregate {
  observedMs: number;
  /** The observed time in which an incident was open. */
  downMs: number;
  /** The incidents that began in the period. */
  incidents: number;
  checks: number;
  failedChecks: number;
  responseTimes: ResponseTimes;
}

/** The response times of successful checks. `minMs` and `maxMs` are 0 if there are none. */
export interface ResponseTimes {
  histogram: Histogram;
  totalMs: number;
  minMs: number;
  maxMs: number;
}

export const noResponseTimes: ResponseTimes = { histogram: emptyHistogram, totalMs: 0, minMs: 0, maxMs: 0 };

export const emptyAggregate: Aggregate = {
  observedMs: 0,
  downMs: 0,
  incidents: 0,
  checks: 0,
  failedChecks: 0,
  responseTimes: noResponseTimes,
};

export function isEmpty({ observedMs, checks, incidents }: Aggregate): boolean {
  return observedMs === 0 && checks === 0 && incidents === 0;
}

export function mergeAggregates(one: Aggregate, other: Aggregate): Aggregate {
  return { ...addCounts(one, other), responseTimes: mergeResponseTimes(one.responseTimes, other.responseTimes) };
}

/** The same without response times, which the totals of a user do not have. A negative factor takes counts away. */
export function addCounts(one: Aggregate, other: Aggregate, factor: 1 | -1 = 1): Aggregate {
  return {
    observedMs: one.observedMs + factor * other.observedMs,
    downMs: one.downMs + factor * other.downMs,
    incidents: one.incidents + factor * other.incidents,
    checks: one.checks + factor * other.checks,
    failedChecks: one.failedChecks + factor * other.failedChecks,
    responseTimes: noResponseTimes,
  };
}

function mergeResponseTimes(one: ResponseTimes, other: ResponseTimes): ResponseTimes {
  if (countOf(one.histogram) === 0) return other;
  if (countOf(other.histogram) === 0) return one;
  return {
    histogram: mergeHistograms(one.histogram, other.histogram),
    totalMs: one.totalMs + other.totalMs,
    minMs: Math.min(one.minMs, other.minMs),
    maxMs: Math.max(one.maxMs, other.maxMs),
  };
}

export function writeAggregate(writer: ByteWriter, aggregate: Aggregate) {
  const { responseTimes } = aggregate;
  writer.varint(aggregate.observedMs);
  writer.varint(aggregate.downMs);
  writer.varint(aggregate.incidents);
  writer.varint(aggregate.checks);
  writer.varint(aggregate.failedChecks);
  writeHistogram(writer, responseTimes.histogram);
  if (responseTimes.histogram.counts.length === 0) return;
  writer.varint(responseTimes.totalMs);
  writer.varint(responseTimes.minMs);
  writer.varint(responseTimes.maxMs);
}

export function readAggregate(reader: ByteReader): Aggregate {
  const [observedMs, downMs, incidents, checks, failedChecks] = [
    reader.varint(),
    reader.varint(),
    reader.varint(),
    reader.varint(),
    reader.varint(),
  ];
  const histogram = readHistogram(reader);
  const responseTimes =
    histogram.counts.length === 0
      ? noResponseTimes
      : { histogram, totalMs: reader.varint(), minMs: reader.varint(), maxMs: reader.varint() };
  return { observedMs, downMs, incidents, checks, failedChecks, responseTimes };
}
