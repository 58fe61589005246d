import { describe, expect, test } from 'vitest';
import { pageLinks, pageMeta } from '../../src/http/paging.ts';

const path = '/api/monitors';

describe('pageLinks', () => {
  test.each([
    ['the first of three', 1, 3, { prev: null, next: 2 }],
    ['the second of three', 2, 3, { prev: 1, next: 3 }],
    ['the last of three', 3, 3, { prev: 2, next: null }],
    ['the only one', 1, 1, { prev: null, next: null }],
    ['one beyond the end, whose previous page is the last', 9, 3, { prev: 3, next: null }],
  ])('on page %s', (_, page, lastPage, { prev, next }) => {
    const link = (number: number | null) => (number === null ? null : `${path}?page=${number}`);
    expect(pageLinks({ path, query: '' }, page, lastPage)).toEqual({
      first: link(1),
      last: link(lastPage),
      prev: link(prev),
      next: link(next),
    });
  });

  test.each([
    ['keeps the other parameters as they were sent', 'pageSize=5&sort=%2Dname', 'pageSize=5&sort=%2Dname&page=1'],
    ['replaces the page', 'page=4&pageSize=5', 'pageSize=5&page=1'],
    ['replaces an encoded page', 'p%61ge=4&pageSize=5', 'pageSize=5&page=1'],
    ['drops empty parameters', '&&a=1&', 'a=1&page=1'],
    ['keeps a parameter without a value', 'page2&a', 'page2&a&page=1'],
    ['keeps a parameter whose value is "page"', 'a=page', 'a=page&page=1'],
    ['encodes characters that a URL cannot contain', 'a=<b>|"c"', 'a=%3Cb%3E%7C%22c%22&page=1'],
    ['keeps characters that a URL can contain', "a=A0_-.~!$'()*+,;=:@/?", "a=A0_-.~!$'()*+,;=:@/?&page=1"],
  ])('%s', (_, query, expected) => expect(pageLinks({ path, query }, 1, 1).first).toBe(`${path}?${expected}`));
});

describe('pageMeta', () => {
  test.each([
    [0, 1],
    [1, 1],
    [20, 1],
    [21, 2],
    [41, 3],
  ])('%i resources make %i pages of 20', (total, pageCount) => {
    expect(pageMeta({ path, query: '' }, { page: 1, pageSize: 20, counted: [{ total }] })).toEqual({
      links: pageLinks({ path, query: '' }, 1, pageCount),
      meta: { page: 1, pageSize: 20, pageCount, total },
    });
  });

  test('no rows mean no resources', () => {
    expect(pageMeta({ path, query: '' }, { page: 2, pageSize: 20, counted: [] }).meta).toEqual({
      page: 2,
      pageSize: 20,
      pageCount: 1,
      total: 0,
    });
  });
});
