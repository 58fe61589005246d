// Basic tests for every operation of the contract, in addition to the tests of each feature: a valid request, no credentials,
// a missing scope, another user's resource and invalid input. A rejected request must not change any data. The list of
// operations comes from the contract. An operation without an entry in test/support/valid-requests.ts is a compile error.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateKey } from '../../src/auth/api-key.ts';
import { allScopes } from '../../src/auth/scopes.ts';
import type { ApiResponse } from '../support/api-client.ts';
import { type ContractOperation, operations } from '../support/contract-operations.ts';
import { startReceivers } from '../support/receivers.ts';
import { expectSameProblem } from '../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { storedRows } from '../support/stored-rows.ts';
import {
  createMonitor,
  type Sender,
  sendRequest as send,
  type ValidRequest,
  validRequest,
  withInvalidInput,
} from '../support/valid-requests.ts';

let receivers: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;

beforeAll(async () => {
  receivers = await startReceivers();
  service = await startService({ delivery: receivers.delivery, signupOpen: true }, { net: receivers.net });
});
afterAll(async () => {
  await service.stop();
  await receivers.close();
});

describe.each(Object.values(operations))('$id', (operation) => {
  const { scopes, credentials, responses } = operation;
  const acceptsKeys = credentials.includes('bearerKey');
  const references = referencesOf(operation);
  /** Nothing that is read or rejected changes anything, so these tests share a user and a valid request. */
  let shared: Awaited<ReturnType<typeof prepare>>;
  beforeAll(async () => {
    shared = await prepare(operation);
  });

  test('accepts a valid request', async () => {
    const { user, request } = await prepare(operation);
    const { status } = await send(acceptsKeys ? user.api : service.anonymous, operation, request);
    // If an operation can both create and change a resource, its first request creates.
    expect(status).toBe(Number(Object.keys(responses).findLast((declared) => declared < '300')));
  });

  if ('304' in responses)
    test('returns an ETag, and 304 to a client that has it', async () => {
      const { user, request } = shared;
      const api = acceptsKeys ? user.api : service.anonymous;
      const first = await send(api, operation, request);
      expect(first.headers.get('ETag')).toMatch(/^"[\w.-]*[0-9a-f]{16}"$/);
      const ifNoneMatch = { 'If-None-Match': '*' };
      const { status, text } = await send(api, operation, { ...request, headers: { ...request.headers, ...ifNoneMatch } });
      expect([status, text]).toEqual([304, '']);
    });

  test('returns 431 for more than 200 headers', async () => {
    const { user, request } = shared;
    const headers = { ...request.headers, ...Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`X-Header-${index}`, '1'])) };
    const api = acceptsKeys ? user.api : service.anonymous;
    await expectRejected(user, 431, 'headers_too_large', () => send(api, operation, { ...request, headers }));
  });

  if (credentials.length > 0)
    test('returns 401 without credentials', async () => {
      const { user, request } = shared;
      await expectRejected(user, 401, 'unauthenticated', () => send(service.anonymous, operation, { ...request, headers: {} }));
    });

  if (acceptsKeys)
    test('returns 401 for an unknown key', async () => {
      const { user, request } = shared;
      const headers = { Authorization: `Bearer ${generateKey()}` };
      await expectRejected(user, 401, 'invalid_key', () => send(service.anonymous, operation, { ...request, headers }));
    });

  if (credentials.length > 0 && !acceptsKeys)
    test('returns 401 for an unknown session', async () => {
      const { user, request } = shared;
      const headers = { Cookie: `sitekeeper_session=${'A'.repeat(43)}` };
      await expectRejected(user, 401, 'invalid_session', () => send(service.anonymous, operation, { ...request, headers }));
    });

  if (credentials.length === 0 && responses[401])
    test('returns 401 for a wrong password', async () => {
      const { user, request } = shared;
      const json = { ...request.json, password: 'not the password' };
      await expectRejected(user, 401, 'invalid_credentials', () => send(service.anonymous, operation, { ...request, json }));
    });

  if (scopes.length > 0)
    test(`returns 403 for a key that has every scope except ${scopes}`, async () => {
      const { user, request } = shared;
      const api = await user.withScopes(...allScopes.filter((scope) => !scopes.includes(scope)));
      await expectRejected(user, 403, 'missing_scope', () => send(api, operation, request));
    });

  if (references.inPath)
    test("returns 404 for another user's resource, as for one that does not exist", async () => {
      const { user, request } = shared;
      const { api } = await service.createUser();
      const foreign = await expectRejected(user, 404, 'not_found', () => send(api, operation, request));
      const unknown = await send(api, operation, { ...request, parameters: { [`${references.inPath}`]: unknownValue(references.inPath) } });
      expectSameProblem(foreign, unknown);
    });

  if (references.inBody)
    test("returns 404 for another user's resource in the body, as for one that does not exist", async () => {
      const { user, request } = shared;
      const own = { service, user: await service.createUser() };
      const parameters = { id: await createMonitor(own) };
      const foreign = await expectRejected(user, 404, 'not_found', () => send(own.user.api, operation, { ...request, parameters }));
      const json = { [`${references.inBody}`]: unknownValue(references.inBody) };
      expectSameProblem(foreign, await send(own.user.api, operation, { ...request, parameters, json }));
    });

  if (takesInput(operation))
    test('returns 422 for invalid input', async () => {
      const { user, request } = shared;
      const api = acceptsKeys ? user.api : service.anonymous;
      await expectRejected(user, 422, 'validation_failed', () => send(api, operation, withInvalidInput(operation, request)));
    });
});

test('of the declared headers only Idempotent-Replayed, and Retry-After of a delivery that is not configured, can be absent', () => {
  const optional = Object.values(operations).flatMap(({ id, responses }) =>
    Object.entries(responses).flatMap(([status, { headers = {} }]) =>
      Object.keys(headers)
        .filter((name) => !headers[name]?.required)
        .map((name) => `${id} ${status} ${name}`),
    ),
  );
  expect(optional.toSorted()).toEqual([
    'addNotification 200 Idempotent-Replayed',
    'addNotification 201 Idempotent-Replayed',
    'createMonitor 201 Idempotent-Replayed',
    'createProvider 201 Idempotent-Replayed',
    'createWebsite 201 Idempotent-Replayed',
    'testProvider 503 Retry-After',
  ]);
});

async function prepare(operation: ContractOperation): Promise<Sender & { request: ValidRequest }> {
  const sender = { service, user: await service.createUser() };
  return { ...sender, request: await validRequest(operation.id, sender) };
}

/** Expects a problem and no changed data, neither of the user nor of the users created just after. Returns the response. */
async function expectRejected(user: TestUser, status: number, code: string, attempt: () => Promise<ApiResponse>): Promise<ApiResponse> {
  const userIds = Array.from({ length: 3 }, (_, next) => user.id + next);
  const before = await storedRows(service.database, userIds);
  const response = await attempt();
  expect([response.status, response.body?.code]).toEqual([status, code]);
  expect(before.join('\n')).toContain(user.email);
  expect(await storedRows(service.database, userIds)).toEqual(before);
  return response;
}

/** Returns the names of the path parameter and the body field that refer to a resource with an owner. */
function referencesOf({ path, body }: ContractOperation): { inPath?: string; inBody?: string } {
  const inPath = /\{(?!token)(\w+)\}/.exec(path)?.[1]; // A token has no owner: whoever knows it may use it.
  const inBody = Object.keys(Object.values(body?.examples ?? {})[0] ?? {}).find((field) => field.endsWith('_id') && field !== 'chat_id');
  return { ...(inPath && { inPath }), ...(inBody && { inBody }) };
}

function unknownValue(name: string | undefined): string | number {
  return name === 'domain' ? 'unknown-website.example' : 9_007_199_254_740_991;
}

function takesInput({ parameters, body }: ContractOperation): boolean {
  return body !== undefined || parameters.some((parameter) => parameter.in !== 'header');
}
