import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Loop, type Pause } from '../../src/monitoring/loop.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Starts a loop that records when its iterations start. */
function startLoop(pause: Pause, iteration: () => Promise<void> = async () => {}) {
  const startedAt: number[] = [];
  const begin = performance.now();
  const loop = new Loop(async () => {
    startedAt.push(Math.round(performance.now() - begin));
    await iteration();
    return pause;
  });
  loop.start();
  return { loop, startedAt };
}

test('sleeps for the longest time if it is not woken', async () => {
  const { startedAt } = startLoop({ minMs: 100, maxMs: 5000 });
  await vi.advanceTimersByTimeAsync(11_000);
  expect(startedAt).toEqual([0, 5000, 10_000]);
});

test('starts at once when it is woken after the shortest time', async () => {
  const { loop, startedAt } = startLoop({ minMs: 100, maxMs: 5000 });
  await vi.advanceTimersByTimeAsync(3000);
  loop.wake();
  await vi.advanceTimersByTimeAsync(1000);
  expect(startedAt).toEqual([0, 3000]);
});

test('starts once after the shortest time, however often it is woken before', async () => {
  const { loop, startedAt } = startLoop({ minMs: 100, maxMs: 5000 });
  for (let count = 0; count < 4; count++) {
    await vi.advanceTimersByTimeAsync(20);
    loop.wake();
  }
  await vi.advanceTimersByTimeAsync(4000);
  expect(startedAt).toEqual([0, 100]);
});

test('runs again after an iteration during which it was woken', async () => {
  const { loop, startedAt } = startLoop({ minMs: 100, maxMs: 5000 }, () => new Promise((resolve) => void setTimeout(resolve, 1000)));
  await vi.advanceTimersByTimeAsync(500);
  loop.wake();
  await vi.advanceTimersByTimeAsync(1500);
  expect(startedAt).toEqual([0, 1100]);
});

test('sleeps for the shortest time if the longest is shorter or in the past', async () => {
  const { startedAt } = startLoop({ minMs: 100, maxMs: -50 });
  await vi.advanceTimersByTimeAsync(250);
  expect(startedAt).toEqual([0, 100, 200]);
});

test('stops after the current iteration, and cannot be woken again', async () => {
  let isDone = false;
  const { loop, startedAt } = startLoop({ minMs: 100, maxMs: 100 }, async () => {
    await new Promise((resolve) => void setTimeout(resolve, 1000));
    isDone = true;
  });
  const stopped = loop.stop();
  await vi.advanceTimersByTimeAsync(1000);
  await stopped;
  expect([loop.isStopped, isDone]).toEqual([true, true]);
  loop.wake();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(startedAt).toEqual([0]);
});

test('is alive while it sleeps and while iterations end, and not if one never ends or if it was stopped', async () => {
  const sleeping = startLoop({ minMs: 100, maxMs: 30_000 });
  const stuck = startLoop({ minMs: 100, maxMs: 30_000 }, () => new Promise(() => {}));
  for (let minutes = 0; minutes < 5; minutes++) {
    await vi.advanceTimersByTimeAsync(60_000);
    expect([sleeping.loop.isAlive, stuck.loop.isAlive]).toEqual([true, minutes < 1]);
  }
  await sleeping.loop.stop();
  expect(sleeping.loop.isAlive).toBe(false);
});

test('is alive during a long iteration that asks whether it should go on, which it should until the loop is stopped', async () => {
  const ended: boolean[] = [];
  const loop = new Loop(async () => {
    while (loop.goesOn()) await new Promise((resolve) => void setTimeout(resolve, 1000));
    ended.push(true);
    return { minMs: 100, maxMs: 100 };
  });
  loop.start();
  await vi.advanceTimersByTimeAsync(300_000);
  expect([loop.isAlive, ended]).toEqual([true, []]);
  const stopped = loop.stop();
  await vi.advanceTimersByTimeAsync(1000);
  await stopped;
  expect(ended).toEqual([true]);
});
