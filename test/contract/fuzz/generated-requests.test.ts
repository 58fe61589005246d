// Sends requests that are generated from the schemas: valid ones and invalid ones. A failure prints the seed and the path of
// the counterexample. To repeat it, set both and select the test:
//   FUZZ_SEED=… FUZZ_PATH=… npx vitest run --config test/contract/vitest.config.ts test/contract/fuzz/generated-requests.test.ts -t "createMonitor.*accepts"
// Another seed without a path generates other requests.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiResponse } from '../../support/api-client.ts';
import { type ContractOperation, operations } from '../../support/contract-operations.ts';
import { arbitraryInvalidRequest, arbitraryValidRequest, type GeneratedRequest } from '../../support/request-generator.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { pathOf, type ValidRequest, validRequest } from '../../support/valid-requests.ts';
import rules from '../rules-beyond-schema.json' with { type: 'json' };

let service: TestService;
beforeAll(async () => {
  service = await startService({ signupOpen: true });
});
afterAll(() => service.stop());

const settings = {
  seed: Number(process.env.FUZZ_SEED ?? 8),
  ...(process.env.FUZZ_PATH && { path: process.env.FUZZ_PATH }),
};
/** The contract is verified on PostgreSQL (.ci/contract), so more requests are sent there. */
const invalidRuns = process.env.TEST_DATABASE_URL ? 60 : 20;
/** A successful request to these operations hashes passwords, which is slow on purpose. */
const slowOperations = ['createUser', 'createSession', 'changePassword'];

// Operations without input have nothing to vary. testProvider sends messages to external services.
const fuzzed = Object.values(operations).filter(({ id, parameters, body }) => (parameters.length > 0 || body) && id !== 'testProvider');

describe.each(fuzzed)('$id', (operation) => {
  test('accepts a valid request unless it violates a rule that a schema cannot express', async () => {
    const user = await service.createUser();
    const statuses = new Set<number>();
    let own = await validRequest(operation.id, { service, user });
    await fc.assert(
      fc.asyncProperty(arbitraryValidRequest(operation), fc.boolean(), async (request, usesOwnResource) => {
        // An earlier DELETE may have deleted the resource.
        if (usesOwnResource && operation.method === 'DELETE') own = await validRequest(operation.id, { service, user });
        const response = await send(operation, user, usesOwnResource ? { ...request, path: textsOf(own.parameters) } : request, own);
        statuses.add(response.status);
        if (response.status === 400 || response.status === 422) expect(unexplainedErrors(operation, response)).toEqual([]);
        expect(response.status).toBeLessThan(500);
      }),
      { ...settings, numRuns: slowOperations.includes(operation.id) ? 4 : 20 },
    );
    // If no request succeeded, the other responses would prove little.
    expect([...statuses].filter((status) => status < 300)).not.toEqual([]);
  });

  test('rejects a request with one invalid part', async () => {
    const user = await service.createUser();
    const own = await validRequest(operation.id, { service, user });
    await fc.assert(
      fc.asyncProperty(arbitraryInvalidRequest(operation), async (request) => {
        const { status } = await send(operation, user, request, own);
        expect([400, 413, 422]).toContain(status);
      }),
      { ...settings, numRuns: invalidRuns },
    );
  });
});

/** Sends the contract's example as the body if the request has none. The client checks every response against the contract. */
function send(operation: ContractOperation, user: TestUser, request: GeneratedRequest, { json, form, headers }: ValidRequest) {
  const query = request.query.length > 0 ? `?${new URLSearchParams(request.query)}` : '';
  const path = pathOf(operation, { parameters: request.path }) + query;
  // The HTTP parser rejects a longer request line with 431 before the request reaches the API.
  fc.pre(path.length < 12_000);
  const api = operation.credentials.includes('bearerKey') ? user.api : service.anonymous;
  return api.request(operation.method, path, {
    headers: { ...headers, ...request.headers },
    ...(request.body ?? { ...(json && { json }), ...(form && { form }) }),
  });
}

function textsOf(parameters: ValidRequest['parameters']): Record<string, string> {
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, String(value)]));
}

/** Returns the validation errors that rules-beyond-schema.json does not list for the operation. */
function unexplainedErrors({ id, method }: ContractOperation, { body }: ApiResponse): string[] {
  const listed: Record<string, Record<string, string>> = rules;
  const expected = { ...listed[id], ...(method === 'POST' && listed['every POST that accepts an Idempotency-Key']) };
  return (body.errors ?? [body])
    .filter((error: { code: string }) => !(error.code in expected))
    .map((error: object) => JSON.stringify(error));
}
