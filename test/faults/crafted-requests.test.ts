// Requests that an attacker has crafted: bodies that are meant to break the parser, and requests from other sites.
import { afterAll, beforeAll, expect } from 'vitest';
import type { ApiResponse } from '../support/api-client.ts';
import { type ContractOperation, operations } from '../support/contract-operations.ts';
import { guarantee } from '../support/guarantee.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { type Body, password, pathOf, signIn, type ValidRequest, validRequest } from '../support/valid-requests.ts';

let service: TestService;
let user: TestUser;
let cookie: { Cookie: string };

beforeAll(async () => {
  service = await startService({ signupOpen: true });
  user = await service.createUser(password);
  cookie = await signIn(service, user.email);
});
afterAll(() => service.stop());

const operationsWithBody = Object.values(operations).filter(({ body }) => body !== undefined);
const jsonOperations = operationsWithBody.filter(({ body }) => body?.mediaType === 'application/json');
const formOperations = operationsWithBody.filter((operation) => !jsonOperations.includes(operation));

/** Returns a valid request of the signed-in user. It has the session cookie and no API key. */
async function prepare({ id }: ContractOperation): Promise<ValidRequest> {
  const request = await validRequest(id, { service, user });
  return { ...request, headers: { ...cookie, ...request.headers } };
}

const send = (operation: ContractOperation, request: ValidRequest, raw?: string, type = operation.body?.mediaType): Promise<ApiResponse> =>
  service.anonymous.request(operation.method, pathOf(operation, request), {
    headers: { ...request.headers, ...(raw !== undefined && { 'Content-Type': String(type) }) },
    ...(raw !== undefined && { raw }),
  });

guarantee(
  12,
  'JSON with 100,000 levels, 1e400, lone surrogates or NUL gets 400 or 422, never 500',
  async () => {
    const counts: Record<number, number> = {};
    const expectRejection = async (operation: ContractOperation, request: ValidRequest, raw?: string) => {
      const { status, text } = await send(operation, request, raw);
      expect([400, 422], `${operation.id} ${raw?.slice(0, 200)}`).toContain(status);
      expect(text.length).toBeLessThan(4 * 2 ** 20);
      counts[status] = (counts[status] ?? 0) + 1;
    };
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    const manyErrorsDeepInside = `${'['.repeat(20_000)}${'"\\u0000",'.repeat(20_000)}1${']'.repeat(20_000)}`;
    for (const operation of jsonOperations) {
      const request = await prepare(operation);
      const bodies = [
        deep,
        `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`,
        '1e400',
        '"\\u0000"',
        '"\\ud800"',
        '\u0000',
        '{"\\u0000":1}',
        manyErrorsDeepInside,
      ];
      for (const raw of bodies) await expectRejection(operation, request, raw);
      for (const [name, value] of Object.entries(request.json ?? {})) {
        const values = [deep, '1e400', '-1e400', '"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', `["\\u0000"]`, `{"\\ud800":1}`, '"a\u0000"'];
        if (typeof value === 'string') values.push(JSON.stringify(`${value}\u0000`), JSON.stringify(`\ud800${value}`));
        for (const text of values)
          await expectRejection(
            operation,
            request,
            JSON.stringify({ ...request.json, [name]: '@' }).replace('"@"', () => text),
          );
      }
    }
    for (const operation of formOperations) {
      const request = await prepare(operation);
      for (const [name, value] of [...Object.entries(request.form ?? {}), ['\u0000', '1']]) {
        for (const suffix of ['%00', '%ED%A0%80', '%FF', '%']) {
          const others = new URLSearchParams(Object.entries(request.form ?? {}).filter(([other]) => other !== name));
          await expectRejection(
            operation,
            request,
            `${others}&${encodeURIComponent(`${name}`)}=${encodeURIComponent(`${value}`)}${suffix}`,
          );
        }
      }
      await expectRejection(operation, request, Array.from({ length: 50_000 }, (_, index) => index.toString(36)).join('&'));
      await expectRejection(operation, request, `${'x'.repeat(100_000)}=1`);
    }
    for (const operation of Object.values(operations)) {
      const request = await prepare(operation);
      for (const { name, in: place } of operation.parameters) {
        if (place === 'query') await expectRejection(operation, { ...request, query: { [name]: '1\u0000' } });
        if (place === 'path') await expectRejection(operation, { ...request, parameters: { ...request.parameters, [name]: '1\u0000' } });
      }
    }
    return Object.entries(counts)
      .map(([status, count]) => `${count} × ${status}`)
      .join(', ');
  },
  120_000,
);

guarantee(13, 'JSON with a duplicate key gets 400; the keys __proto__ and constructor get 422, and no prototype is polluted', async () => {
  const inherited = Object.getOwnPropertyNames(Object.prototype);
  let [duplicates, prototypeKeys] = [0, 0];
  for (const operation of jsonOperations) {
    const request = await prepare(operation);
    const text = JSON.stringify(request.json);
    const [[name, value] = ['', '']] = Object.entries(request.json ?? {});
    const escaped = `"\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}"`;
    for (const key of [`"${name}"`, escaped]) {
      const response = await send(operation, request, `${text.slice(0, -1)},${key}:${JSON.stringify(value)}}`);
      expect([operation.id, response.status, response.body.code]).toEqual([operation.id, 400, 'duplicate_key']);
      duplicates++;
    }
    for (const key of ['__proto__', 'constructor', 'prototype', 'hasOwnProperty', '\\u005f_proto__']) {
      const response = await send(operation, request, `${text.slice(0, -1)},"${key}":{"polluted":1,"prototype":{"polluted":1}}}`);
      expect([operation.id, key, response.status]).toEqual([operation.id, key, 422]);
      prototypeKeys++;
    }
  }
  for (const operation of formOperations) {
    const request = await prepare(operation);
    for (const field of ['__proto__', '__proto__[polluted]', 'constructor', 'constructor[prototype][polluted]', 'toString']) {
      const response = await send(operation, request, `${new URLSearchParams({ ...request.form, [field]: '1' })}`);
      expect([operation.id, field, response.status]).toEqual([operation.id, field, 422]);
      prototypeKeys++;
    }
  }
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(inherited);
  expect(({} as Body).polluted).toBeUndefined();
  return `${duplicates} duplicate keys, ${prototypeKeys} keys of Object.prototype`;
});

guarantee(
  14,
  'JSON sent as text/plain with a cookie gets 415; an unsafe request from another site with a cookie gets 403 and changes nothing',
  async () => {
    // Whoever knows the token of a heartbeat may send it from anywhere: it is no cookie that a browser adds.
    const unsafeOperations = Object.values(operations).filter(({ method, path }) => method !== 'GET' && !path.includes('{token}'));
    const crossOriginHeaders: Record<string, string>[] = [
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { Origin: service.url.replace('127.0.0.1', '127.0.0.1.evil.example') },
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site', Origin: service.url },
    ];
    let [plainText, crossOrigin] = [0, 0];
    for (const operation of unsafeOperations) {
      const request = await prepare(operation);
      const raw = operation.body && JSON.stringify(request.json ?? request.form);
      const before = await listEverything();
      if (raw !== undefined) {
        const { status } = await send(operation, request, raw, 'text/plain');
        expect([operation.id, status]).toEqual([operation.id, 415]);
        plainText++;
      }
      for (const headers of crossOriginHeaders) {
        for (const type of ['text/plain', operation.body?.mediaType]) {
          const response = await send(operation, { ...request, headers: { ...request.headers, ...headers } }, raw, type);
          expect([operation.id, headers, response.status, response.body.code]).toEqual([operation.id, headers, 403, 'cross_origin']);
          crossOrigin++;
        }
      }
      expect(await listEverything()).toEqual(before);
    }
    return `${plainText} × 415, ${crossOrigin} × 403 over ${unsafeOperations.length} operations, nothing changed`;
  },
);

/** Returns everything that the user can list. */
async function listEverything(): Promise<string[]> {
  const paths = ['/api/v1/websites', '/api/monitors', '/api/providers', '/api/keys', '/api/session'];
  // Reading updates the last use of a key and the expiry of the session.
  return Promise.all(
    paths.map(async (path) =>
      (await service.anonymous.get(path, { headers: cookie })).text.replace(/"(last_used|expires)_at":[^,}]*/g, ''),
    ),
  );
}
