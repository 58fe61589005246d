// Requests made from the schemas, well and badly formed. A failure prints the seed and the path of the counterexample:
//   FUZZ_SEED=… FUZZ_PATH=… npx vitest run test/contract/fuzz.test.ts -t "createMonitor valid"
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiResponse } from '../support/api-client.ts';
import { type ContractOperation, operations } from '../support/contract-operations.ts';
import { faultyRequests, fittingRequests, type GeneratedRequest } from '../support/request-generator.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { pathOf, type ValidRequest, validRequest } from '../support/valid-requests.ts';
import rules from './rules-beyond-schema.json' with { type: 'json' };

let service: TestService;
beforeAll(async () => {
  service = await startService({ signupOpen: true });
});
afterAll(() => service.stop());

const settings = {
  seed: Number(process.env.FUZZ_SEED ?? 8),
  ...(process.env.FUZZ_PATH && { path: process.env.FUZZ_PATH }),
};
/** Most where it is the proof of the contract, on PostgreSQL. */
const faultyRuns = process.env.TEST_DATABASE_URL ? 60 : 20;
/** Each success of these hashes a password or two. */
const slow = ['createUser', 'createSession', 'changePassword'];

// Without input there is nothing to vary; and the test of a provider writes to people outside.
const fuzzed = Object.values(operations).filter(({ id, parameters, body }) => (parameters.length > 0 || body) && id !== 'testProvider');

describe.each(fuzzed)('$id', (operation) => {
  test('a valid request is refused only by a rule that no schema can say', async () => {
    const user = await service.createUser();
    const statuses = new Set<number>();
    let own = await validRequest(operation.id, { service, user });
    await fc.assert(
      fc.asyncProperty(fittingRequests(operation), fc.boolean(), async (request, isAboutOwn) => {
        // What was there before may be deleted by now.
        if (isAboutOwn && operation.method === 'DELETE') own = await validRequest(operation.id, { service, user });
        const answer = await send(operation, user, isAboutOwn ? { ...request, path: textsOf(own.parameters) } : request, own);
        statuses.add(answer.status);
        if (answer.status === 400 || answer.status === 422) expect(unexcused(operation, answer)).toEqual([]);
        expect(answer.status).toBeLessThan(500);
      }),
      { ...settings, numRuns: slow.includes(operation.id) ? 4 : 20 },
    );
    // Or else the other answers would prove little.
    expect([...statuses].filter((status) => status < 300)).not.toEqual([]);
  });

  test('a request with one thing wrong is refused as such', async () => {
    const user = await service.createUser();
    const own = await validRequest(operation.id, { service, user });
    await fc.assert(
      fc.asyncProperty(faultyRequests(operation), async (request) => {
        const { status } = await send(operation, user, request, own);
        expect([400, 413, 422]).toContain(status);
      }),
      { ...settings, numRuns: faultyRuns },
    );
  });
});

/** With the example of the contract where the request has no body of its own. Every answer is held against the contract. */
function send(operation: ContractOperation, user: TestUser, request: GeneratedRequest, { json, form, headers }: ValidRequest) {
  const query = request.query.length > 0 ? `?${new URLSearchParams(request.query)}` : '';
  const path = pathOf(operation, { parameters: request.path }) + query;
  // What does not fit into the head of a request is refused before any contract: 431.
  fc.pre(path.length < 12_000);
  const api = operation.credentials.includes('bearerKey') ? user.api : service.stranger;
  return api.request(operation.method, path, {
    headers: { ...headers, ...request.headers },
    ...(request.body ?? { ...(json && { json }), ...(form && { form }) }),
  });
}

function textsOf(parameters: ValidRequest['parameters']): Record<string, string> {
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, String(value)]));
}

/** The faults that are named and not listed. */
function unexcused({ id, method }: ContractOperation, { body }: ApiResponse): string[] {
  const listed: Record<string, Record<string, string>> = rules;
  const excuses = { ...listed[id], ...(method === 'POST' && listed['every POST that takes an Idempotency-Key']) };
  return (body.errors ?? [body])
    .filter((fault: { code: string }) => !(fault.code in excuses))
    .map((fault: object) => JSON.stringify(fault));
}
