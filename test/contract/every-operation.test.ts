// The net under the tests of each feature: every operation of the contract is called well, by a stranger, with the wrong
// scope, with another user's objects and with bad input, and a refusal changes nothing. The list comes from the
// contract; an operation without a valid request in test/support/valid-requests.ts does not compile.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateKey } from '../../src/auth/api-key.ts';
import { allScopes } from '../../src/auth/scopes.ts';
import type { ApiClient, ApiResponse } from '../support/api-client.ts';
import { type ContractOperation, operations } from '../support/contract-operations.ts';
import { startReceivers } from '../support/receivers.ts';
import { expectSameProblem } from '../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { storedRows } from '../support/stored-rows.ts';
import { createMonitor, pathOf, type Sender, type ValidRequest, validRequest, withBadInput } from '../support/valid-requests.ts';

let others: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;

beforeAll(async () => {
  others = await startReceivers();
  service = await startService({ delivery: others.delivery, signupOpen: true }, { net: others.net });
});
afterAll(async () => {
  await service.stop();
  await others.close();
});

describe.each(Object.values(operations))('$id', (operation) => {
  const { scopes, credentials, responses } = operation;
  const takesKeys = credentials.includes('bearerKey');
  const names = namesOf(operation);

  test('a valid request succeeds', async () => {
    const { user, request } = await prepare(operation);
    const { status } = await send(takesKeys ? user.api : service.stranger, operation, request);
    // Where it may also change what is there already, the first request creates.
    expect(status).toBe(Number(Object.keys(responses).findLast((declared) => declared < '300')));
  });

  if (credentials.length > 0)
    test('401 without credentials', async () => {
      const { user, request } = await prepare(operation);
      await refused(user, 401, 'unauthenticated', () => send(service.stranger, operation, { ...request, headers: {} }));
    });

  if (takesKeys)
    test('401 with a key that nobody has', async () => {
      const { user, request } = await prepare(operation);
      const headers = { Authorization: `Bearer ${generateKey()}` };
      await refused(user, 401, 'invalid_key', () => send(service.stranger, operation, { ...request, headers }));
    });

  if (credentials.length > 0 && !takesKeys)
    test('401 with a session that nobody has', async () => {
      const { user, request } = await prepare(operation);
      const headers = { Cookie: `sitekeeper_session=${'A'.repeat(43)}` };
      await refused(user, 401, 'invalid_session', () => send(service.stranger, operation, { ...request, headers }));
    });

  if (credentials.length === 0 && responses[401])
    test('401 with a wrong password', async () => {
      const { user, request } = await prepare(operation);
      const json = { ...request.json, password: 'not the password' };
      await refused(user, 401, 'invalid_credentials', () => send(service.stranger, operation, { ...request, json }));
    });

  if (scopes.length > 0)
    test(`403 with every scope but ${scopes}`, async () => {
      const { user, request } = await prepare(operation);
      const api = await user.withScopes(...allScopes.filter((scope) => !scopes.includes(scope)));
      await refused(user, 403, 'missing_scope', () => send(api, operation, request));
    });

  if (names.inPath)
    test("404 for another user's object, like one that does not exist", async () => {
      const { user, request } = await prepare(operation);
      const { api } = await service.createUser();
      const foreign = await refused(user, 404, 'not_found', () => send(api, operation, request));
      const unknown = await send(api, operation, { ...request, parameters: { [`${names.inPath}`]: unknownValue(names.inPath) } });
      expectSameProblem(foreign, unknown);
    });

  if (names.inBody)
    test("404 for another user's object in the body, like one that does not exist", async () => {
      const { user, request } = await prepare(operation);
      const own = { service, user: await service.createUser() };
      const parameters = { id: await createMonitor(own) };
      const foreign = await refused(user, 404, 'not_found', () => send(own.user.api, operation, { ...request, parameters }));
      const json = { [`${names.inBody}`]: unknownValue(names.inBody) };
      expectSameProblem(foreign, await send(own.user.api, operation, { ...request, parameters, json }));
    });

  if (takesInput(operation))
    test('422 for bad input', async () => {
      const { user, request } = await prepare(operation);
      const api = takesKeys ? user.api : service.stranger;
      await refused(user, 422, 'validation_failed', () => send(api, operation, withBadInput(operation, request)));
    });
});

async function prepare(operation: ContractOperation): Promise<Sender & { request: ValidRequest }> {
  const sender = { service, user: await service.createUser() };
  return { ...sender, request: await validRequest(operation.id, sender) };
}

function send(api: ApiClient, operation: ContractOperation, { json, form, headers, ...place }: ValidRequest): Promise<ApiResponse> {
  return api.request(operation.method, pathOf(operation, place), { headers, ...(json && { json }), ...(form && { form }) });
}

/** The refusal, after seeing that it left everything as it was: for the user, and for those made just after. */
async function refused(user: TestUser, status: number, code: string, attempt: () => Promise<ApiResponse>): Promise<ApiResponse> {
  const touched = Array.from({ length: 3 }, (_, next) => user.id + next);
  const before = await storedRows(service.database, touched);
  const answer = await attempt();
  expect([answer.status, answer.body?.code]).toEqual([status, code]);
  expect(before.join('\n')).toContain(user.email);
  expect(await storedRows(service.database, touched)).toEqual(before);
  return answer;
}

/** Where a request names an object that somebody may own. */
function namesOf({ path, body }: ContractOperation): { inPath?: string; inBody?: string } {
  const inPath = /\{(\w+)\}/.exec(path)?.[1];
  const inBody = Object.keys(Object.values(body?.examples ?? {})[0] ?? {}).find((field) => field.endsWith('_id') && field !== 'chat_id');
  return { ...(inPath && { inPath }), ...(inBody && { inBody }) };
}

function unknownValue(name: string | undefined): string | number {
  return name === 'domain' ? 'nobody-has-this.example' : 9_007_199_254_740_991;
}

function takesInput({ parameters, body }: ContractOperation): boolean {
  return body !== undefined || parameters.some((parameter) => parameter.in !== 'header');
}
