import { expect, test } from 'vitest';
import { formatDuration } from '../../src/monitoring/format-duration.ts';

test.each([
  [-5000, '0 s'],
  [0, '0 s'],
  [499, '0 s'],
  [500, '1 s'],
  [59_499, '59 s'],
  [42_000, '42 s'],
  [60_000, '1 min'],
  [65_000, '1 min 5 s'],
  [3_599_000, '59 min 59 s'],
  [3_600_000, '1 h'],
  [3_605_000, '1 h'],
  [86_399_000, '23 h 59 min'],
  [90_061_000, '1 d 1 h'],
])('formats %i ms as %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});
