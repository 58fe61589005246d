// Tests that cannot work through Prism, with the reason. A listed file or title that no longer exists is an error.
import { existsSync } from 'node:fs';
import { afterAll, beforeEach, expect } from 'vitest';

const bytes = 'Prism forwards bodies as text, so bytes that are not UTF-8 do not arrive unchanged.';
const noBody = 'Prism parses the body of every JSON response, and a response to HEAD has none.';

/** Files, and in each of them the beginnings of titles. */
const excluded: Record<string, Record<string, string>> = {
  'test/websites/create-website.test.ts': { 'returns 400 for a form that is not UTF-8': bytes },
  'test/websites/list-websites.test.ts': {
    'responds to HEAD like to GET': noBody,
    'returns 400 for a query string that is not percent-encoded UTF-8': 'Prism parses the query string and encodes it again.',
  },
  'test/websites/show-website.test.ts': { 'responds to HEAD like to GET': noBody },
  'test/websites/show-website-by-domain.test.ts': { 'responds to HEAD like to GET': noBody },
};

const missingFiles = Object.keys(excluded).filter((file) => !existsSync(file));
if (missingFiles.length > 0) throw new Error(`excluded-tests.ts lists files that do not exist: ${missingFiles.join(', ')}`);

let titles: Record<string, string> = {};
const found = new Set<string>();

beforeEach(({ task, skip }) => {
  titles = excluded[task.file.name] ?? {};
  const title = Object.keys(titles).find((start) => task.name.startsWith(start));
  if (title === undefined) return;
  found.add(title);
  skip(titles[title]);
});

afterAll(() => expect(Object.keys(titles).filter((title) => !found.has(title))).toEqual([]));
