import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { bodyFailure } from '../../../src/monitoring/checks/http/body-conditions.ts';
import { TextSearch } from '../../../src/monitoring/checks/http/text-search.ts';

function find(needle: Buffer, pieces: Buffer[]): boolean {
  const search = new TextSearch(needle);
  for (const piece of pieces) search.add(piece);
  return search.isFound;
}

/** Returns the bytes in two pieces, divided at every place. */
const divisions = (bytes: Buffer) => Array.from({ length: bytes.length + 1 }, (_, end) => [bytes.subarray(0, end), bytes.subarray(end)]);

/** All texts of this length with the letters a and b. */
const textsOf = (length: number): string[] => (length === 0 ? [''] : textsOf(length - 1).flatMap((text) => [`${text}a`, `${text}b`]));

describe('a search in pieces finds the same as one in the whole', () => {
  test.each([1, 2, 3, 4])('for all needles of %i letters', (length) => {
    for (const needle of textsOf(length)) {
      for (const text of textsOf(8)) {
        const bytes = Buffer.from(text);
        for (const pieces of divisions(bytes)) {
          if (find(Buffer.from(needle), pieces) !== text.includes(needle)) expect.fail(`${needle} in ${pieces.join(' and ')}`);
        }
      }
    }
  });

  // The first seven bytes of a needle are searched for in another way than the rest.
  test.each(['aaaaaaab', 'aaaaaaaaaaaab', 'abababababac', 'abcdefgabcdefgabcdefgh', 'abcdefg abcdefgh', 'ab€ab€ab€ab🐘', '🐘🐘🐘🐘🐘x'])(
    'for %s',
    (needle) => {
      const bytes = Buffer.from(needle);
      for (let repeated = 0; repeated < bytes.length; repeated++) {
        // It begins again within what already matches, so that a shorter match leads to the whole one, or just not.
        for (const rest of [bytes, bytes.subarray(repeated), bytes.subarray(0, -1)]) {
          const body = Buffer.concat([Buffer.from('x'), bytes.subarray(0, repeated), rest, Buffer.from('y')]);
          for (const pieces of divisions(body)) {
            if (find(bytes, pieces) !== body.includes(bytes)) expect.fail(`${needle} in ${pieces.join(' and ')}`);
          }
        }
      }
    },
  );

  test('one byte at a time', () => {
    const body = Buffer.from('abcdefgabcdefgabcdefgabcdefgh');
    const pieces = Array.from(body, (byte) => Buffer.from([byte]));
    expect(find(Buffer.from('abcdefgabcdefgh'), pieces)).toBe(true);
    expect(find(Buffer.from('abcdefgabcdefghi'), pieces)).toBe(false);
  });
});

test('the longest needle in the body that fits it worst takes one look at each byte, apart from the search for a few bytes', () => {
  const body = Buffer.from('€'.repeat(5000));
  let looks = 0;
  const indexOf = vi.spyOn(body, 'indexOf');
  const counted = new Proxy(body, {
    get(_, name) {
      if (typeof name === 'string' && /^\d+$/.test(name)) looks++;
      const value = Reflect.get(body, name, body);
      return typeof value === 'function' ? value.bind(body) : value;
    },
  });
  for (const needle of [`€x${'€'.repeat(198)}`, `${'€'.repeat(198)}x€`, `${'€'.repeat(100)}x${'€'.repeat(99)}`]) {
    looks = 0;
    expect(find(Buffer.from(needle), [counted])).toBe(false);
    expect(looks).toBeLessThanOrEqual(body.length);
  }
  const sought = indexOf.mock.calls.map(([needle]) => (needle as Buffer).length);
  expect(Math.max(...sought)).toBeLessThanOrEqual(8);
  const starts = indexOf.mock.calls.map(([, start]) => Number(start));
  expect(starts.length).toBeGreaterThan(0);
  expect(starts.length).toBeLessThanOrEqual(3 * (body.length / 8));
});

test.each(['utf-8', 'windows-1252', 'gb18030'])('a body in %s is searched in turns, in pieces of at most 64 KiB', async (charset) => {
  const [add, decode] = [vi.spyOn(TextSearch.prototype, 'add'), vi.spyOn(TextDecoder.prototype, 'decode')];
  const includes = vi.spyOn(Buffer.prototype, 'includes');
  let [nowMs, inThisTurn, most] = [0, 0, 0];
  // Each piece seems to take the time of a whole turn.
  const now = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 20));
  onTestFinished(() => {
    for (const spy of [add, decode, includes, now]) spy.mockRestore();
  });
  const body = Buffer.alloc(200_000, charset === 'utf-8' ? 0x61 : 0x80);
  const failing = bodyFailure({ headers: { 'content-type': `text/html; charset=${charset}` }, body, isCut: false }, 1, {
    body_contains: `a${'€'.repeat(199)}`,
    body_not_contains: `b${'€'.repeat(199)}`,
    json: null,
  });
  let isDone = false;
  void failing.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    const before = add.mock.calls.length;
    await new Promise(setImmediate);
    inThisTurn = add.mock.calls.length - before;
    most = Math.max(most, inThisTurn);
  }
  expect(await failing).toMatch('does not contain');
  expect(most).toBe(2); // Both texts, in the same piece.
  const pieces = [...add.mock.calls, ...decode.mock.calls].map(([piece]) => (piece as Buffer).length);
  expect(Math.max(...pieces)).toBeLessThanOrEqual(3 * 64 * 1024); // In UTF-8, a byte may become three of them.
  expect(decode.mock.calls.length).toBe(charset === 'utf-8' ? 0 : Math.ceil(body.length / (64 * 1024)));
  expect(includes).not.toHaveBeenCalled();
});
