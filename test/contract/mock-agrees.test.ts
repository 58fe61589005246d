// Sends the same requests to the mock and to the service. The client checks every response against the contract, so these
// tests compare only the status.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiClient, type ApiResponse } from '../support/api-client.ts';
import { type ContractOperation, operations } from '../support/contract-operations.ts';
import { type RunningMock, startMock } from '../support/mock.ts';
import { startReceivers } from '../support/receivers.ts';
import { arbitraryInvalidRequest, arbitraryValidRequest, type GeneratedRequest } from '../support/request-generator.ts';
import { startService, type TestService } from '../support/service.ts';
import { pathOf, type ValidRequest, validRequest } from '../support/valid-requests.ts';

let receivers: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;
let mock: RunningMock;
beforeAll(async () => {
  receivers = await startReceivers();
  [service, mock] = await Promise.all([
    startService({ delivery: receivers.delivery, signupOpen: true }, { net: receivers.net }),
    startMock(),
  ]);
});
afterAll(async () => {
  await Promise.all([service.stop(), mock.stop(), receivers.close()]);
});

/** The codes for which the two may differ, with the reason. Most depend on stored data, and the mock stores none. */
const allowedDifferences: Record<string, string> = {
  not_found: 'The mock has a resource for every id and every domain.',
  domain_taken: 'The mock treats every domain as new.',
  email_taken: 'The mock treats every e-mail address as new.',
  precondition_failed: 'The mock compares with the version of the example.',
  invalid_credentials: 'The mock accepts every password.',
  wrong_password: 'The mock accepts every password.',
  password_needed: 'The mock does not know whether a password is stored, so it requires none on an update.',
  field_of_other_type: 'The mock does not know the type of the provider.',
  immutable: 'The mock does not know the type of the provider.',
  unknown_mask: 'The mock stores no secret that a mask could be compared with.',
  invalid_target: 'On an update, the type or the url can be the stored one.',
  address_not_allowed: 'On an update, the type can be the stored one.',
  reused: 'The mock stores no responses.',
  rate_limited: 'The mock does not count manual checks and password attempts.',
  // These rules are in the handlers, which the mock does not run.
  invalid_domain: 'The handler validates the domain in a path.',
  required: 'The handler checks that the body or the query names the provider.',
  contradiction: 'The handler checks that the body and the query name the same provider.',
  needs_window_24h: 'The handler compares the resolution with the window.',
};

const examples = Object.values(operations).flatMap((operation) => {
  const names = Object.keys(operation.body?.examples ?? {});
  return (names.length > 0 ? names : [undefined]).map((name) => ({ operation, id: operation.id, name }));
});

test.each(examples)('$id, example $name: returns the same status', async ({ operation, name }) => {
  const { own, serviceApi } = await prepare(operation, name);
  const { parameters, query, headers, json, form } = own;
  const options = { headers, ...(json && { json }), ...(form && { form }) };
  const [served, mocked] = await sendToBoth(operation, serviceApi, pathOf(operation, { parameters, ...(query && { query }) }), options);
  expect(mocked.status).toBe(served.status);
  expect(served.status).toBeLessThan(300);
});

const responseExamples = Object.values(operations).flatMap((operation) =>
  Object.entries(operation.responses).flatMap(([status, { content = {} }]) =>
    Object.values(content).flatMap(({ examples: named = {} }) =>
      Object.keys(named).map((name) => ({ operation, id: operation.id, status: Number(status), name })),
    ),
  ),
);

test('the mock returns every response example on request', async () => {
  const prepared = new Map<string, Awaited<ReturnType<typeof prepare>>>();
  for (const { operation, status, name } of responseExamples) {
    const { own } = prepared.get(operation.id) ?? (await prepare(operation));
    prepared.set(operation.id, { own, serviceApi: service.anonymous });
    const { parameters, headers, json, form } = own;
    const options = { headers: { ...headers, Prefer: `code=${status}, example=${name}` }, ...(json && { json }), ...(form && { form }) };
    const mocked = await (operation.credentials.includes('bearerKey') ? mock.api : new ApiClient(mock.url, {}, { isMock: true })).request(
      operation.method,
      pathOf(operation, { parameters }),
      options,
    );
    expect([operation.id, name, mocked.status]).toEqual([operation.id, name, status]);
  }
  expect(responseExamples.length).toBeGreaterThan(300);
});

// Operations without input have nothing to vary. testProvider is limited to 5 requests per minute.
const varied = Object.values(operations).filter(({ id, parameters, body }) => (parameters.length > 0 || body) && id !== 'testProvider');
const runs = Math.ceil(200 / varied.length);

describe('200 generated requests', () => {
  test.each(varied)('$id: returns the same status unless the response depends on stored data', async (operation) => {
    const { own, serviceApi } = await prepare(operation);
    const sampled = fc.sample(fc.oneof(arbitraryValidRequest(operation), arbitraryInvalidRequest(operation)), { seed: 8, numRuns: runs });
    for (const request of sampled) {
      const path = Object.keys(own.parameters).length > 0 && !hasInvalidId(operation, request) ? texts(own.parameters) : request.path;
      const query = request.query.length > 0 ? `?${new URLSearchParams(request.query)}` : '';
      const body = request.body ?? { ...(own.json && { json: own.json }), ...(own.form && { form: own.form }) };
      const options = { headers: { ...own.headers, ...request.headers }, ...body };
      const [served, mocked] = await sendToBoth(operation, serviceApi, pathOf(operation, { parameters: path }) + query, options);
      const codes = codesOf(served);
      if (codes.length > 0 && codes.every((code) => code in allowedDifferences) && mocked.status !== served.status) {
        expect([request, mocked.status < 300]).toEqual([request, true]);
      } else {
        expect([request, comparableStatus(mocked)]).toEqual([request, comparableStatus(served)]);
      }
    }
  });
});

async function prepare(operation: ContractOperation, example?: string) {
  const user = await service.createUser();
  const own = await validRequest(operation.id, { service, user }, example);
  return { own, serviceApi: operation.credentials.includes('bearerKey') ? user.api : service.anonymous };
}

function sendToBoth(operation: ContractOperation, serviceApi: ApiClient, path: string, options: Parameters<ApiClient['request']>[2]) {
  const mockApi = operation.credentials.includes('bearerKey') ? mock.api : new ApiClient(mock.url, {}, { isMock: true });
  return Promise.all([serviceApi.request(operation.method, path, options), mockApi.request(operation.method, path, options)]);
}

/** Returns the codes of the validation errors, or the code of the problem if there are none. */
function codesOf({ status, body }: ApiResponse): string[] {
  if (status < 400) return [];
  return body.errors?.map(({ code }: { code: string }) => code) ?? [body.code];
}

/** Treats 201 as 200: addNotification returns 201 only the first time, which the mock cannot know. */
function comparableStatus({ status }: ApiResponse): number {
  return status === 201 ? 200 : status;
}

function hasInvalidId({ parameters }: ContractOperation, { path }: GeneratedRequest): boolean {
  return parameters.some(({ name, in: location }) => location === 'path' && name === 'id' && !/^[1-9]\d{0,15}$/.test(path[name] ?? ''));
}

function texts(parameters: ValidRequest['parameters']): Record<string, string> {
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, String(value)]));
}
