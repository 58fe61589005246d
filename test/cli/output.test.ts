import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { printPages } from '../../src/cli/output.ts';

let printed = '';

beforeEach(() => {
  printed = '';
  vi.spyOn(console, 'log').mockImplementation((text) => {
    printed += `${text}\n`;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  process.stdout.removeAllListeners('error');
});

const columns = { ID: ({ id }: Row) => id, NAME: ({ name }: Row) => name };
interface Row {
  id: number;
  name: string;
}

/** Returns the rows after an id, two at a time. */
const pagesOf = (rows: Row[]) => async (after: number) => rows.filter(({ id }) => id > after).slice(0, 2);
const rows = ['one', 'two', 'three', 'four', 'five'].map((name, index) => ({ id: index * 10 + 1, name }));

test('several pages are one JSON array', async () => {
  await printPages({ json: true }, columns, pagesOf(rows));
  expect(JSON.parse(printed)).toEqual(rows);
});

test('several pages are one table with one header', async () => {
  await printPages({}, columns, pagesOf(rows));
  expect(printed).toBe('ID  NAME\n1   one\n11  two\n21  three\n31  four\n41  five\n');
});

test.each([
  [{ json: true as const }, '[]\n'],
  [{}, 'ID  NAME\n'],
])('without rows, %j prints an empty list', async (options, expected) => {
  await printPages(options, columns, pagesOf([]));
  expect(printed).toBe(expected);
});

test('a text of a user cannot change what the terminal shows', async () => {
  await printPages({}, columns, pagesOf([{ id: 1, name: 'a\u001b[2Jb\nc\u202ed' }]));
  expect(printed).toBe('ID  NAME\n1   a?[2Jb?c?d\n');
});
