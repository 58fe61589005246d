import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startMock } from '../../support/mock.ts';

interface Pair {
  key: string;
  value: string;
  disabled?: boolean;
}
interface Request {
  method: string;
  auth?: { type: string };
  header: Pair[];
  url: { raw: string; variable: Pair[] };
  body?: { mode?: string; raw?: string; urlencoded?: Pair[] };
}
interface Collection {
  auth: { type: string; bearer: Pair[] };
  variable: Pair[];
  item: { name: string; item: { name: string; request: Request }[] }[];
}

const generated = join(import.meta.dirname, '../../../generated');
const read = (file: string) => JSON.parse(readFileSync(join(generated, file), 'utf8'));
const collection: Collection = read('sitekeeper.postman_collection.json');
const requests = collection.item.flatMap(({ item }) => item.map(({ name, request }): [string, Request] => [name, request]));
let mock: Awaited<ReturnType<typeof startMock>>;

beforeAll(async () => {
  mock = await startMock();
});
afterAll(() => mock.stop());

const enabledPairs = (pairs: Pair[] = []) =>
  pairs.filter(({ disabled }) => !disabled).map(({ key, value }): [string, string] => [key, value]);

/** Sends the request as Postman does: variables are replaced and disabled entries are left out. */
function send({ method, auth, header, url, body }: Request): Promise<Response> {
  let target = url.raw.replace('{{baseUrl}}', mock.url);
  for (const { key, value } of url.variable) target = target.replace(`:${key}`, value);
  const headers = new Headers(enabledPairs(header));
  if (auth?.type === 'noauth') headers.set('Cookie', 'sitekeeper_session=any');
  else headers.set('Authorization', 'Bearer any');
  const payload = body?.urlencoded ? new URLSearchParams(enabledPairs(body.urlencoded)).toString() : body?.raw;
  return fetch(target, { method, headers, ...(payload !== undefined && { body: payload }) });
}

test('the collection has variables for the base URL and the key, and a folder for each tag with all of its operations', () => {
  expect(collection.variable.map(({ key }) => key)).toEqual(['baseUrl', 'apiKey']);
  expect(collection.auth).toMatchObject({ type: 'bearer', bearer: [{ value: '{{apiKey}}' }] });
  const contracts = [read('websites.json'), read('monitoring.json')];
  expect(collection.item.map(({ name }) => name)).toEqual(contracts.flatMap(({ tags }) => tags.map(({ name }: { name: string }) => name)));
  const operations = contracts.flatMap(({ paths }) => Object.values<object>(paths).flatMap((item) => Object.keys(item)));
  expect(requests).toHaveLength(operations.filter((key) => key !== 'parameters').length);
});

test.each(requests)('%s: the mock accepts the request without changes', async (_, request) => {
  const response = await send(request);
  expect([response.status, response.ok ? '' : await response.text()]).toEqual([expect.any(Number), '']);
});
