// The published examples must work as they are, and show what the service really returns.
import { afterAll, beforeAll, expect } from 'vitest';
import { guarantee } from '../support/guarantee.ts';
import { type AbusedService, startAbusedService } from './support/service.ts';

interface Operation {
  operationId: string;
  method: string;
  requestBody?: { content: Record<string, { examples: Record<string, { value: object }> }> };
  security?: object[];
  'x-required-scopes': string[];
  responses: Record<string, { content?: Record<string, { examples: Record<string, { value: Problem }> }> }>;
}

interface Spec {
  paths: Record<string, Record<string, Operation>>;
}

interface Problem {
  type: string;
  instance: string;
  code: string;
  request_id: string;
}

let service: AbusedService;
/** The operations of the published specs that accept API keys. */
let operations: Operation[];

beforeAll(async () => {
  service = await startAbusedService({ users: 1 });
  const specs = await Promise.all(['websites', 'monitoring'].map((api) => getJson<Spec>(`${service.url}/openapi/${api}.json`)));
  operations = specs
    .flatMap(({ paths }) => Object.values(paths))
    .flatMap((item) => Object.entries(item).map(([method, operation]) => ({ ...operation, method: method.toUpperCase() })))
    .filter(({ responses, security }) => responses && !security);
});
afterAll(() => service.remove());

guarantee(17, 'The examples of requests do not expire', async () => {
  const requests = operations.flatMap(({ requestBody }) => Object.values(requestBody?.content ?? {}));
  const examples = requests.flatMap((content) => Object.values(content.examples).map(({ value }) => value));
  const dates = examples.flatMap((value) => JSON.stringify(value).match(/(?<=")\d{4}-\d\d-\d\d[^"]*(?=")/g) ?? []);
  expect(dates).not.toEqual([]);
  expect(dates.filter((date) => date < '2099')).toEqual([]);
  const createKey = operations.find(({ operationId }) => operationId === 'createKey')?.requestBody?.content['application/json'];
  for (const { value } of Object.values(createKey?.examples ?? {})) {
    const { status, body } = await service.as(service.users[0]).post('/api/keys', { json: value });
    expect(status, JSON.stringify(body)).toBe(201);
  }
  return `${examples.length} examples of requests with ${dates.length} dates, none before 2099`;
});

guarantee(18, 'The examples of 401, 403, 406 and 415 show what their operations return', async () => {
  let count = 0;
  for (const operation of operations) {
    const { method, responses } = operation;
    const examples = Object.values(responses).flatMap(({ content }) =>
      Object.values(content?.['application/problem+json']?.examples ?? {}),
    );
    for (const { value: example } of examples) {
      const headers = await headersFor(example.code, operation);
      if (!headers) continue;
      const body = example.code === 'unsupported_media_type' ? { body: 'text' } : {};
      const actual = await getJson<Problem>(service.url + example.instance, { method, headers, ...body });
      const { type, request_id } = actual;
      expect(actual, `${method} ${example.instance}`).toEqual({ ...example, type, request_id });
      count++;
    }
  }
  expect(count).toBeGreaterThan(operations.length * 2);
  return `${count} errors of ${operations.length} operations equal their examples`;
});

async function getJson<Body>(url: string, options?: RequestInit): Promise<Body> {
  return (await fetch(url, options)).json() as Promise<Body>;
}

/** Returns the headers that cause this error whatever else is in the request, or undefined if there are none. */
async function headersFor(code: string, { 'x-required-scopes': scopes }: Operation): Promise<Record<string, string> | undefined> {
  const key = service.users[0]?.key;
  const withKey = (value: string | undefined, headers = {}) => ({ Authorization: `Bearer ${value}`, ...headers });
  switch (code) {
    case 'unauthenticated':
      return {};
    case 'not_acceptable':
      return withKey(key, { Accept: 'text/html' });
    case 'unsupported_media_type':
      return withKey(key, { 'Content-Type': 'text/plain' });
    case 'missing_scope':
      return withKey(await keyWithout(scopes[0]));
    default:
      return undefined;
  }
}

const keys = new Map<string | undefined, Promise<string>>();

function keyWithout(missing: string | undefined): Promise<string> {
  const created = keys.get(missing) ?? createKeyWithout(missing);
  keys.set(missing, created);
  return created;
}

async function createKeyWithout(missing: string | undefined): Promise<string> {
  const all = ['monitors:read', 'monitors:write', 'providers:read', 'providers:write', 'websites:read', 'websites:write'];
  const json = { name: 'Test', scopes: all.filter((scope) => scope !== missing) };
  const { body } = await service.as(service.users[0]).post('/api/keys', { json });
  return body.data.key;
}
