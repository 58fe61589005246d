import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  decodeChecks,
  describeFailure,
  descriptionHead,
  encodeCheck,
  type Failure,
  type SingleCheck,
} from '../../../src/monitoring/statistics/single-check.ts';

const hour = Date.UTC(2026, 10, 10, 7);

/** Encodes checks one after the other, as they are appended to the row of the hour: a failure is not described twice. */
function encodeAll(checks: SingleCheck[], hourMs = hour): Buffer {
  let last: string | undefined;
  const parts = checks.map((check) => {
    const bytes = encodeCheck(check, hourMs);
    const description = check.failure && describeFailure(check.failure);
    const isRepeated = description !== undefined && description === last;
    last = description ?? last;
    return isRepeated ? bytes.subarray(descriptionHead + Buffer.byteLength(description)) : bytes;
  });
  return Buffer.concat(parts);
}

const success = (offsetMs: number, responseTimeMs?: number): SingleCheck => ({
  checkedAtMs: hour + offsetMs,
  responseTimeMs,
  failure: undefined,
});
const failed = (offsetMs: number, cause: string, statusCode: number | null, responseTimeMs?: number): SingleCheck => ({
  checkedAtMs: hour + offsetMs,
  responseTimeMs,
  failure: { cause, statusCode },
});

function expectRoundTrip(checks: SingleCheck[], hourMs = hour) {
  expect(decodeChecks(encodeAll(checks, hourMs), hourMs)).toEqual(checks);
}

test('checks in the first and in the last millisecond of an hour keep their times', () => {
  expectRoundTrip([success(0, 120), success(3_599_999, 130), failed(0, 'HTTP 503', 503, 90), failed(3_599_999, 'timed out', null)]);
});

test.each([1, 127, 128, 60_000, 2 ** 31 - 1])('a response time of %d ms is kept, of successes and failures', (ms) => {
  expectRoundTrip([success(5, ms), failed(6, 'HTTP 500', 500, ms)]);
});

test('a check without a response has no response time', () => {
  expectRoundTrip([success(5), failed(6, 'timed out after 10 s', null)]);
});

test.each([100, 404, 503, 999])('the status %d is kept', (statusCode) => {
  expectRoundTrip([failed(5, 'unexpected status', statusCode, 12)]);
});

test.each([
  ['empty', ''],
  ['as long as possible', 'x'.repeat(200)],
  ['as long as possible, three bytes each', '時'.repeat(200)],
  ['with spaces at its ends', ' 503  '],
  ['that begins with a number', '503'],
  ['with letters beyond ASCII', 'Zeitüberschreitung — 時間切れ 🙈'],
])('a cause is kept: %s', (_, cause) => {
  expectRoundTrip([failed(5, cause, null), success(6, 1), failed(7, cause, null), failed(8, `${cause}.`, 500)]);
});

test('a repeated failure takes no more space than a success, and is the same failure again, also after successes', () => {
  const first = failed(1000, 'HTTP 503', 503, 20);
  const checks = [
    first,
    failed(2000, 'HTTP 503', 503, 30),
    success(3000, 40),
    failed(4000, 'HTTP 503', 503),
    failed(5000, 'HTTP 500', 500),
  ];
  expectRoundTrip(checks);
  // Three bytes for the time and one for the response time.
  expect(encodeAll([first, first]).length - encodeAll([first]).length).toBe(4);
});

test('failures with the same cause and another status are different ones', () => {
  expectRoundTrip([failed(1, 'x', 500), failed(2, 'x', 502), failed(3, 'x', null), failed(4, 'x', 502)]);
});

test('no two failures have the same description', () => {
  const anyFailure: fc.Arbitrary<Failure> = fc.record({
    cause: fc.oneof(fc.constantFrom('', ' ', '503', ' 503', '503 x', 'x'), fc.string({ maxLength: 5 })),
    statusCode: fc.option(fc.constantFrom(100, 503, 999)),
  });
  fc.assert(
    fc.property(anyFailure, anyFailure, (one, other) => {
      const isSame = one.cause === other.cause && one.statusCode === other.statusCode;
      expect(describeFailure(one) === describeFailure(other)).toBe(isSame);
    }),
  );
});

test('a usual check takes four or five bytes', () => {
  expect(encodeCheck(success(1000, 127), hour)).toHaveLength(4);
  expect(encodeCheck(success(3_599_999, 250), hour)).toHaveLength(5);
  expect(encodeCheck(success(1000), hour)).toHaveLength(3);
});

test('nothing is decoded from no bytes', () => {
  expect(decodeChecks(new Uint8Array(), hour)).toEqual([]);
});

test('bytes that end inside of a check are an error', () => {
  const bytes = encodeAll([success(5, 120), failed(6, 'HTTP 503', 503)]);
  expect(() => decodeChecks(bytes.subarray(0, -1), hour)).toThrow('Stored statistics end in the middle of a value.');
});

test('any checks of an hour are decoded in the order in which they were recorded', () => {
  const responseTime = fc.option(fc.integer({ min: 1, max: 2 ** 31 - 1 }), { nil: undefined });
  const cause = fc.oneof(fc.constantFrom('HTTP 503', 'timed out'), fc.string({ unit: 'grapheme', maxLength: 50 }));
  const failure = fc.record({ cause, statusCode: fc.option(fc.integer({ min: 100, max: 999 })) });
  const check = fc.record({
    checkedAtMs: fc.integer({ min: hour, max: hour + 3_599_999 }),
    responseTimeMs: responseTime,
    failure: fc.option(failure, { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(check, { maxLength: 60 }), (checks) => {
      expectRoundTrip(checks);
    }),
  );
});

test('any hour until the year 2100', () => {
  const hours = fc.integer({ min: 0, max: Math.floor(Date.UTC(2100, 0) / 3_600_000) }).map((number) => number * 3_600_000);
  fc.assert(
    fc.property(hours, (hourMs) => {
      expectRoundTrip([{ checkedAtMs: hourMs + 1_800_001, responseTimeMs: 5, failure: undefined }], hourMs);
    }),
  );
});
