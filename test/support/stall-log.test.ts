import { expect, test } from 'vitest';
import { StallLog } from './stall-log.ts';

const ms = (count: number) => BigInt(count) * 1_000_000n;

/** Returns what a control that was woken at these times has seen. It sleeps for 10 ms each time. */
function logOf(...beats: number[]) {
  const log = new StallLog();
  for (const beat of beats) log.beat(ms(beat));
  return (start: number, end: number) => Number(log.between(ms(start), ms(end))) / 1e6;
}

test('counts what a control that sleeps for 10 ms was woken too late', () => {
  expect(logOf(100, 110, 250, 260)(0, 265)).toBe(130);
});

test('ignores a lateness of up to 1 ms', () => {
  expect(logOf(100, 111, 122)(0, 125)).toBe(0);
});

test('counts only the part within the interval', () => {
  const stallBetween = logOf(100, 200, 300);
  expect([stallBetween(150, 250), stallBetween(105, 109), stallBetween(195, 205)]).toEqual([90, 0, 5]);
});

test('counts a stall that has not ended', () => {
  expect(logOf(100)(0, 500)).toBe(390);
});

test('counts nothing before the control has started', () => {
  expect(logOf()(0, 500)).toBe(0);
});
