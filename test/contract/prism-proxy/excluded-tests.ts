// Tests that say nothing through Prism, with the reason. A title that no test has any more fails the file.
import { basename } from 'node:path';
import { afterAll, beforeEach, expect } from 'vitest';

const bytes = 'Prism passes bodies on as text, so other bytes do not arrive as they were sent.';
const noBody = 'Prism reads the body of every JSON answer, and to HEAD there is none.';
const ownParser = 'The parser that refuses would be the one of the proxy.';

const leftOut: Record<string, Record<string, string>> = {
  'create-website.test.ts': { '400 for a form that is not UTF-8': bytes },
  'list-websites.test.ts': {
    'HEAD is answered like GET': noBody,
    '400 for a query that is not percent-encoded UTF-8': 'Prism reads the query and writes it anew.',
  },
  'show-website.test.ts': { 'HEAD is answered like GET': noBody },
  'show-website-by-domain.test.ts': { 'HEAD is answered like GET': noBody },
  'refusals.test.ts': {
    'HEAD is answered like GET': noBody,
    '401 for two Authorization headers': 'Node keeps the first of them for Prism.',
    '400 for JSON that is not UTF-8': bytes,
    'what the HTTP parser itself refuses': ownParser,
    '431 for 17 KiB of headers': ownParser,
    '431 for 1,000 headers': ownParser,
  },
};

let listed: Record<string, string> = {};
const met = new Set<string>();

beforeEach(({ task, skip }) => {
  listed = leftOut[basename(task.file.name)] ?? {};
  const title = Object.keys(listed).find((start) => task.name.startsWith(start));
  if (title === undefined) return;
  met.add(title);
  skip(listed[title]);
});

afterAll(() => expect(Object.keys(listed).filter((title) => !met.has(title))).toEqual([]));
