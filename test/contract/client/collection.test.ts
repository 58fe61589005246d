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

const ticked = (pairs: Pair[] = []) => pairs.filter(({ disabled }) => !disabled).map(({ key, value }): [string, string] => [key, value]);

/** As a tool sends it: variables filled in, what is not ticked left out. */
function send({ method, auth, header, url, body }: Request): Promise<Response> {
  let address = url.raw.replace('{{baseUrl}}', mock.url);
  for (const { key, value } of url.variable) address = address.replace(`:${key}`, value);
  const headers = new Headers(ticked(header));
  if (auth?.type === 'noauth') headers.set('Cookie', 'sitekeeper_session=any');
  else headers.set('Authorization', 'Bearer any');
  const sent = body?.urlencoded ? new URLSearchParams(ticked(body.urlencoded)).toString() : body?.raw;
  return fetch(address, { method, headers, ...(sent !== undefined && { body: sent }) });
}

test('the collection asks for an address and a key, and has a folder for each tag with every operation', () => {
  expect(collection.variable.map(({ key }) => key)).toEqual(['baseUrl', 'apiKey']);
  expect(collection.auth).toMatchObject({ type: 'bearer', bearer: [{ value: '{{apiKey}}' }] });
  const contracts = [read('websites.json'), read('monitoring.json')];
  expect(collection.item.map(({ name }) => name)).toEqual(contracts.flatMap(({ tags }) => tags.map(({ name }: { name: string }) => name)));
  const operations = contracts.flatMap(({ paths }) => Object.values<object>(paths).flatMap((item) => Object.keys(item)));
  expect(requests).toHaveLength(operations.filter((key) => key !== 'parameters').length);
});

test.each(requests)('%s: sent as it is, the mock takes it', async (_, request) => {
  const response = await send(request);
  expect([response.status, response.ok ? '' : await response.text()]).toEqual([expect.any(Number), '']);
});
