// The mock and the service, asked the same. Every answer of either is held against the contract by the client, so what is
// compared here is the status.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiClient, type ApiResponse } from '../support/api-client.ts';
import { type ContractOperation, operations } from '../support/contract-operations.ts';
import { type RunningMock, startMock } from '../support/mock.ts';
import { startReceivers } from '../support/receivers.ts';
import { faultyRequests, fittingRequests, type GeneratedRequest } from '../support/request-generator.ts';
import { startService, type TestService } from '../support/service.ts';
import { pathOf, type ValidRequest, validRequest } from '../support/valid-requests.ts';

let others: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;
let mock: RunningMock;
beforeAll(async () => {
  others = await startReceivers();
  [service, mock] = await Promise.all([startService({ delivery: others.delivery, signupOpen: true }, { net: others.net }), startMock()]);
});
afterAll(async () => {
  await Promise.all([service.stop(), mock.stop(), others.close()]);
});

/** Where the two differ: the service looks at what is stored, and the mock stores nothing. By the code of the refusal. */
const needsWhatIsStored: Record<string, string> = {
  not_found: 'The mock has an object for every id and every domain.',
  domain_taken: 'To the mock every domain is new.',
  email_taken: 'To the mock every address is new.',
  precondition_failed: 'The version that the mock compares with is the one of the example.',
  invalid_credentials: 'To the mock every password is right.',
  wrong_password: 'To the mock every password is right.',
  password_needed: 'The mock knows no password from before, so it asks for none on an update.',
  field_of_other_type: 'The mock does not know of what type the provider is.',
  unknown_mask: 'The mock keeps no secret to compare a mask with.',
  invalid_target: 'On an update the type or the url may be the stored one.',
  address_not_allowed: 'On an update the type may be the stored one.',
  reused: 'The mock keeps no answers.',
  rate_limited: 'The mock does not count how often a monitor was checked or a password tried.',
  // Not by a rule of the contract but by the handler, which the mock does not have.
  invalid_domain: 'The domain in a path is judged by the handler.',
  required: 'Whether body or query names the provider is judged by the handler.',
  contradiction: 'Whether body and query name the same provider is judged by the handler.',
};

const examples = Object.values(operations).flatMap((operation) => {
  const names = Object.keys(operation.body?.examples ?? {});
  return (names.length > 0 ? names : [undefined]).map((name) => ({ operation, id: operation.id, name }));
});

test.each(examples)('$id, example $name: the same status', async ({ operation, name }) => {
  const { own, ofService } = await prepare(operation, name);
  const { parameters, query, headers, json, form } = own;
  const options = { headers, ...(json && { json }), ...(form && { form }) };
  const [served, mocked] = await askBoth(operation, ofService, pathOf(operation, { parameters, ...(query && { query }) }), options);
  expect(mocked.status).toBe(served.status);
  expect(served.status).toBeLessThan(300);
});

const described = Object.values(operations).flatMap((operation) =>
  Object.entries(operation.responses).flatMap(([status, { content = {} }]) =>
    Object.values(content).flatMap(({ examples: named = {} }) =>
      Object.keys(named).map((name) => ({ operation, id: operation.id, status: Number(status), name })),
    ),
  ),
);

test('every example of an answer is one that the mock gives when asked', async () => {
  const sent = new Map<string, Awaited<ReturnType<typeof prepare>>>();
  for (const { operation, status, name } of described) {
    const { own } = sent.get(operation.id) ?? (await prepare(operation));
    sent.set(operation.id, { own, ofService: service.stranger });
    const { parameters, headers, json, form } = own;
    const options = { headers: { ...headers, Prefer: `code=${status}, example=${name}` }, ...(json && { json }), ...(form && { form }) };
    const mocked = await (operation.credentials.includes('bearerKey') ? mock.api : new ApiClient(mock.url)).request(
      operation.method,
      pathOf(operation, { parameters }),
      options,
    );
    expect([operation.id, name, mocked.status]).toEqual([operation.id, name, status]);
  }
  expect(described.length).toBeGreaterThan(300);
});

// Without input there is nothing to vary; a test of a provider may be sent 5 times a minute.
const varied = Object.values(operations).filter(({ id, parameters, body }) => (parameters.length > 0 || body) && id !== 'testProvider');
const runs = Math.ceil(200 / varied.length);

describe('200 generated requests', () => {
  test.each(varied)('$id: the same status, but where the answer depends on what is stored', async (operation) => {
    const { own, ofService } = await prepare(operation);
    const sampled = fc.sample(fc.oneof(fittingRequests(operation), faultyRequests(operation)), { seed: 8, numRuns: runs });
    for (const request of sampled) {
      const path = Object.keys(own.parameters).length > 0 && !isFaulty(operation, request) ? texts(own.parameters) : request.path;
      const query = request.query.length > 0 ? `?${new URLSearchParams(request.query)}` : '';
      const body = request.body ?? { ...(own.json && { json: own.json }), ...(own.form && { form: own.form }) };
      const options = { headers: { ...own.headers, ...request.headers }, ...body };
      const [served, mocked] = await askBoth(operation, ofService, pathOf(operation, { parameters: path }) + query, options);
      const codes = refusalsOf(served);
      if (codes.length > 0 && codes.every((code) => code in needsWhatIsStored) && mocked.status !== served.status) {
        expect([request, mocked.status < 300]).toEqual([request, true]);
      } else {
        expect([request, successOr(mocked)]).toEqual([request, successOr(served)]);
      }
    }
  });
});

async function prepare(operation: ContractOperation, example?: string) {
  const user = await service.createUser();
  const own = await validRequest(operation.id, { service, user }, example);
  return { own, ofService: operation.credentials.includes('bearerKey') ? user.api : service.stranger };
}

function askBoth(operation: ContractOperation, ofService: ApiClient, path: string, options: Parameters<ApiClient['request']>[2]) {
  const ofMock = operation.credentials.includes('bearerKey') ? mock.api : new ApiClient(mock.url);
  return Promise.all([ofService.request(operation.method, path, options), ofMock.request(operation.method, path, options)]);
}

/** The codes of what the answer refuses: the faults where there are some. */
function refusalsOf({ status, body }: ApiResponse): string[] {
  if (status < 400) return [];
  return body.errors?.map(({ code }: { code: string }) => code) ?? [body.code];
}

/** Assigning again is 200 and the first time 201; the mock does not know which it is. */
function successOr({ status }: ApiResponse): number {
  return status === 201 ? 200 : status;
}

function isFaulty({ parameters }: ContractOperation, { path }: GeneratedRequest): boolean {
  return parameters.some(({ name, in: place }) => place === 'path' && name === 'id' && !/^[1-9]\d{0,15}$/.test(path[name] ?? ''));
}

function texts(parameters: ValidRequest['parameters']): Record<string, string> {
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, String(value)]));
}
