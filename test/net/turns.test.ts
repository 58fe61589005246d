import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { inTurn } from '../../src/net/turns.ts';

// The turn of the test before may still run, with the real clock.
beforeEach(async () => {
  for (let turns = 0; turns < 2; turns++) await nextTurn();
});

/** Replaces the clock. Only the returned function advances it. */
function startClock() {
  let nowMs = performance.now();
  const now = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  onTestFinished(() => now.mockRestore());
  return (ms: number) => {
    nowMs += ms;
  };
}

test('returns the result of the work, or its error', async () => {
  expect(await inTurn('searching', 1, () => 5)).toBe(5);
  await expect(inTurn('searching', 1, () => JSON.parse('{'))).rejects.toThrow(SyntaxError);
});

test('the work of many callers is done in order, and takes no more than its share of each turn', async () => {
  const work = startClock();
  const done: number[] = [];
  const works = Array.from({ length: 30 }, (_, index) =>
    inTurn('searching', 1, () => {
      work(6);
      done.push(index);
    }),
  );
  let [before, most] = [0, 0];
  while (done.length < works.length) {
    await nextTurn();
    most = Math.max(most, done.length - before);
    before = done.length;
  }
  await Promise.all(works);
  expect(done).toEqual(works.map((_, index) => index));
  expect(most).toBe(2);
});

test('work that is added by other work is done as well, once', async () => {
  let count = 0;
  const inner: Promise<void>[] = [];
  await inTurn('searching', 1, () => {
    for (let index = 0; index < 3; index++) inner.push(inTurn('searching', 1, () => void count++));
  });
  await Promise.all(inner);
  expect(count).toBe(3);
});

test('the pieces of one caller are done in one turn while there is time, and what a piece causes comes before the next', async () => {
  startClock();
  const events: string[] = [];
  let isDone = false;
  const run = async () => {
    for (let index = 0; index < 3; index++) {
      await inTurn('parsing', 1, () => {
        events.push('piece');
        process.nextTick(() => events.push('tick'));
      });
      await Promise.resolve();
      events.push('reaction');
    }
    isDone = true;
  };
  const running = run();
  await nextTurn();
  expect(isDone).toBe(true);
  await running;
  expect(events).toEqual(Array.from({ length: 3 }, () => ['piece', 'tick', 'reaction']).flat());
});

test('callers take turns', async () => {
  startClock();
  const order: string[] = [];
  const add = async (name: string) => {
    for (let index = 0; index < 3; index++) await inTurn('parsing', 1, () => void order.push(name));
  };
  await Promise.all([add('a'), add('b')]);
  expect(order.join('')).toBe('ababab');
});

test.each([
  [1, 1],
  [1, 30],
  [7, 2],
])(
  'parsing in pieces of %i ms waits no longer than it takes, and for one piece of %i ms, however many searches there are',
  async (...ms) => {
    const [parsingMs, searchingMs] = ms;
    const work = startClock();
    let [searchedMs, parsedMs, most] = [0, 0, Number.NEGATIVE_INFINITY];
    const searches = Array.from({ length: 400 }, () =>
      inTurn('searching', 1, () => {
        work(searchingMs);
        searchedMs += searchingMs;
      }),
    );
    await searches[99]; // An idle queue may not save its time for later, nor lose what it would get from now on.
    const startedMs = searchedMs;
    for (let index = 0; index < 60; index++) {
      await inTurn('parsing', 1, () => {
        most = Math.max(most, searchedMs - startedMs - parsedMs);
        work(parsingMs);
        parsedMs += parsingMs;
      });
    }
    expect(most).toBeLessThanOrEqual(searchingMs + parsingMs);
    expect(searchedMs - startedMs).toBeGreaterThanOrEqual(parsedMs - searchingMs - parsingMs);
    await Promise.all(searches);
  },
);

test('the users share the time equally, however many callers one of them has, and however long their pieces take', async () => {
  const work = startClock();
  let [heavyMs, heavyBefore, lightMs, isDone] = [0, Number.NaN, 0, false];
  const callHeavily = async () => {
    while (!isDone) {
      await inTurn('parsing', 1, () => {
        work(5);
        heavyMs += 5;
      });
    }
  };
  const heavy = Array.from({ length: 300 }, callHeavily);
  await inTurn('parsing', 1, () => {}); // By now, all of them have had their turn.
  const startedMs = heavyMs;
  for (let index = 0; index < 100; index++) {
    await inTurn('parsing', 2, () => {
      heavyBefore = heavyMs - startedMs;
      work(1);
      lightMs += 1;
    });
  }
  isDone = true;
  await Promise.all(heavy);
  expect(startedMs).toBeGreaterThanOrEqual(300 * 5);
  expect(lightMs).toBe(100);
  expect(heavyBefore).toBeGreaterThanOrEqual(90);
  expect(heavyBefore).toBeLessThanOrEqual(110);
});

test('a user who had nothing to do gets no more time than the others afterwards', async () => {
  const work = startClock();
  const done: number[] = [];
  const add = async (userId: number, count: number) => {
    for (let index = 0; index < count; index++) {
      await inTurn('parsing', userId, () => {
        work(3);
        done.push(userId);
      });
    }
  };
  const first = add(1, 40);
  await add(2, 1);
  done.length = 0;
  await Promise.all([first, add(3, 20)]);
  expect(done.slice(0, 20).filter((userId) => userId === 3).length).toBeGreaterThanOrEqual(9);
  expect(done.slice(0, 20).filter((userId) => userId === 3).length).toBeLessThanOrEqual(11);
});

test('a kind of work keeps its share, however many users have work of another kind', async () => {
  const work = startClock();
  let [searchedMs, isDone] = [0, false];
  const search = async (userId: number) => {
    while (!isDone) {
      await inTurn('searching', userId, () => {
        work(1);
        searchedMs += 1;
      });
    }
  };
  const searches = Array.from({ length: 20 }, (_, userId) => search(userId));
  await inTurn('starting', 100, () => {});
  const startedMs = searchedMs;
  await Promise.all(Array.from({ length: 50 }, () => inTurn('starting', 100, () => work(1))));
  expect(searchedMs - startedMs).toBeLessThan(60);
  isDone = true;
  await Promise.all(searches);
});

test('what was planned for the next turn of the event loop comes before the next turn of the work', async () => {
  const work = startClock();
  const events: string[] = [];
  const pieces = [1, 2].map((index) =>
    inTurn('decrypting', 1, () => {
      work(20);
      events.push(`piece ${index}`);
      process.nextTick(() => setImmediate(() => events.push(`consequence ${index}`)));
    }),
  );
  await Promise.all(pieces);
  expect(events).toEqual(['piece 1', 'consequence 1', 'piece 2']);
});
