import { expect, onTestFinished, test, vi } from 'vitest';
import { FairSlots } from '../../src/limits/fair-slots.ts';

const generous = { maxWaiting: 1000, maxWaitMs: 60_000 };

/** Work that ends when it is told to. */
function manualWork() {
  const started: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) => () =>
    new Promise<string>((resolve) => {
      started.push(name);
      ends.push(() => resolve(name));
    });
  return {
    started,
    work,
    /** Ends the oldest running work, and lets the next one start. */
    async endOne() {
      ends.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

test('free slots go to the owners in turn, however much of one owner waits', async () => {
  const slots = new FairSlots({ slots: 1, ...generous });
  const { started, work, endOne } = manualWork();
  const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) => slots.run(name[0] ?? '', work(name)));
  for (let index = 0; index < all.length; index++) await endOne();
  expect(started).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
  expect(await Promise.all(all)).toHaveLength(7);
});

test('runs as many at a time as there are slots, and only some of one owner', async () => {
  const slots = new FairSlots({ slots: 3, slotsPerOwner: 2, ...generous });
  const { started, work, endOne } = manualWork();
  const all = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((name) => slots.run(name[0] ?? '', work(name)));
  expect(started).toEqual(['a1', 'a2', 'b1']);
  for (let index = 0; index < all.length; index++) await endOne();
  expect(started.toSorted()).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'c1']);
  await Promise.all(all);
});

test('what an owner still has running counts when more of that owner arrives', async () => {
  const slots = new FairSlots({ slots: 3, slotsPerOwner: 2, ...generous });
  const { started, work, endOne } = manualWork();
  const first = ['a1', 'a2'].map((name) => slots.run('a', work(name)));
  await endOne();
  const later = ['a3', 'a4'].map((name) => slots.run('a', work(name)));
  expect([started, slots.waiting]).toEqual([['a1', 'a2', 'a3'], 1]);
  for (let index = 0; index < 3; index++) await endOne();
  expect(await Promise.all([...first, ...later])).toEqual(['a1', 'a2', 'a3', 'a4']);
});

test('a slot that is freed by one owner does not go to another who has all that one can have', async () => {
  const slots = new FairSlots({ slots: 3, slotsPerOwner: 2, ...generous });
  const { started, work, endOne } = manualWork();
  const all = ['b1', 'a1', 'a2', 'a3'].map((name) => slots.run(name[0] ?? '', work(name)));
  expect(slots.waiting).toBe(1);
  await endOne();
  expect(started).toEqual(['b1', 'a1', 'a2']);
  await endOne();
  expect([started, slots.waiting]).toEqual([['b1', 'a1', 'a2', 'a3'], 0]);
  for (let index = 0; index < 2; index++) await endOne();
  await Promise.all(all);
});

test('never runs more than there are slots, also those that have waited', async () => {
  const slots = new FairSlots({ slots: 2, ...generous });
  const { started, work, endOne } = manualWork();
  const all = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6'].map((name) => slots.run('a', work(name)));
  for (const count of [3, 4, 5, 6]) {
    await endOne();
    expect(started).toHaveLength(count);
    const late = slots.run('b', work('b'));
    expect(started).toHaveLength(count);
    all.push(late);
    if (count === 3) expect(slots.waiting).toBe(4);
  }
  for (let index = 0; index < 10; index++) await endOne();
  await Promise.all(all);
});

test('an owner who had work before comes after those who wait already', async () => {
  const slots = new FairSlots({ slots: 1, ...generous });
  const { started, work, endOne } = manualWork();
  const run = (name: string) => slots.run(name[0] ?? '', work(name));
  const first = run('a1');
  await endOne();
  await first;
  const all = ['b1', 'c1', 'a2'].map(run);
  for (let index = 0; index < 3; index++) await endOne();
  await Promise.all(all);
  expect(started).toEqual(['a1', 'b1', 'c1', 'a2']);
});

test('work that fails frees its slot', async () => {
  const slots = new FairSlots({ slots: 1, ...generous });
  const failing = slots.run('a', () => Promise.reject(new Error('failed')));
  const next = slots.run('a', async () => 'done');
  await expect(failing).rejects.toThrow('failed');
  expect(await next).toBe('done');
});

test('rejects work of an owner who has too much waiting, and accepts that of others', async () => {
  const slots = new FairSlots({ slots: 1, maxWaiting: 2, maxWaitMs: 60_000 });
  const { work, endOne } = manualWork();
  const accepted = ['a1', 'a2', 'a3'].map((name) => slots.run('a', work(name)));
  await expect(slots.run('a', work('a4'))).rejects.toMatchObject({
    code: 'rate_limited',
    retryAfterSeconds: 1,
    message: 'Too many of your requests are in progress. Wait for their responses before you send more.',
  });
  accepted.push(slots.run('b', work('b1')));
  for (let index = 0; index < 4; index++) await endOne();
  expect(await Promise.all(accepted)).toEqual(['a1', 'a2', 'a3', 'b1']);
});

test('work that waits for too long is rejected and never runs', async () => {
  const slots = new FairSlots({ slots: 1, maxWaiting: 10, maxWaitMs: 20 });
  const { started, work, endOne } = manualWork();
  const first = slots.run('a', work('a1'));
  await expect(slots.run('b', work('b1'))).rejects.toMatchObject({
    code: 'unavailable',
    retryAfterSeconds: 2,
    message: 'The service is overloaded. Retry in 2 seconds.',
  });
  await endOne();
  expect(await first).toBe('a1');
  const last = slots.run('b', work('b2'));
  await endOne();
  expect(await last).toBe('b2');
  expect(started).toEqual(['a1', 'b2']);
});

test('an owner whose work was rejected comes after those who wait already', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const slots = new FairSlots({ slots: 1, maxWaiting: 10, maxWaitMs: 1000 });
  const { started, work, endOne } = manualWork();
  const run = (name: string) => slots.run(name[0] ?? '', work(name));
  const first = run('a1');
  const rejected = expect(run('b1')).rejects.toMatchObject({ code: 'unavailable' });
  vi.advanceTimersByTime(1000);
  await rejected;
  const all = [first, ...['c1', 'b2'].map(run)];
  for (let index = 0; index < 3; index++) await endOne();
  await Promise.all(all);
  expect(started).toEqual(['a1', 'c1', 'b2']);
  expect(vi.getTimerCount()).toBe(0);
});
