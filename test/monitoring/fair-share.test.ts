import { expect, test } from 'vitest';
import { shareSlots } from '../../src/monitoring/fair-share.ts';

const nothing = new Map<number, number>();
const range = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test('one user alone gets 4 of 5 slots', () => {
  expect([...shareSlots([7], nothing, 500)]).toEqual([[7, 400]]);
});

test('several users get equal shares, and some slots stay free', () => {
  const shares = shareSlots(range(10), nothing, 500);
  expect(new Set(shares.values())).toEqual(new Set([48, 49]));
  expect([...shares.values()].reduce((sum, slots) => sum + slots, 0)).toBeLessThan(490);
});

test('a newcomer gets a slot next to users who hold all they may', () => {
  const held = new Map(range(10).map((userId) => [userId, 49]));
  expect([...shareSlots([...range(10), 11], held, 10)]).toEqual([[11, 8]]);
});

test('users who hold the fewest slots come first, and among them those who are first in the list', () => {
  const held = new Map([[1, 3]]);
  expect([...shareSlots([1, 3, 2], held, 2)]).toEqual([
    [3, 1],
    [2, 1],
  ]);
});

test('the last slot is given away, and without free slots nobody gets one', () => {
  expect([...shareSlots([1], nothing, 1)]).toEqual([[1, 1]]);
  expect(shareSlots([1, 2], nothing, 0).size).toBe(0);
  expect(shareSlots([], nothing, 10).size).toBe(0);
});
