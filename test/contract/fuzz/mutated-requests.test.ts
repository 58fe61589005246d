// Sends valid requests to every operation with random changes to any part of them: fields, path, query, headers, method and
// the text of the body. No response may be 500 or violate the contract. It sends 5,000 requests on PostgreSQL
// (.ci/with-postgres, as in .ci/contract). On the embedded database, which is slower, it sends one round per operation.
// The same seed gives the same requests. A failure prints the seed and the number of the request. To repeat only the
// requests that were sent together with it:
//   FUZZ_SEED=… FUZZ_PATH=… npx vitest run --config test/contract/vitest.config.ts test/contract/fuzz/mutated-requests.test.ts
// Another seed without a path gives other requests.
import http from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allScopes } from '../../../src/auth/scopes.ts';
import type { ApiResponse } from '../../support/api-client.ts';
import { type ContractOperation, operations } from '../../support/contract-operations.ts';
import { startReceivers } from '../../support/receivers.ts';
import { checkAgainstContract } from '../../support/response-check.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { password, signIn, type ValidRequest, validRequest } from '../../support/valid-requests.ts';
import { type HttpRequest, mutate, mutationsFor } from './mutations.ts';

const seed = Number(process.env.FUZZ_SEED ?? 27);
/** Many requests change or delete the resource that they name, so each round starts with a new one. */
const roundSize = 20;
const all = Object.values(operations);
const isFullRun = process.env.TEST_DATABASE_URL !== undefined;
/** The embedded database runs one query at a time, so concurrent rounds would only wait for each other. */
const concurrentRounds = isFullRun ? 4 : 1;
const replayed = process.env.FUZZ_PATH ? Number.parseInt(process.env.FUZZ_PATH, 10) : undefined;
const rounds = roundsToRun();
const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });

let receivers: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;

beforeAll(async () => {
  receivers = await startReceivers();
  service = await startService({ delivery: receivers.delivery, signupOpen: true }, { net: receivers.net });
});
afterAll(async () => {
  agent.destroy();
  await service.stop();
  await receivers.close();
});

test(`returns no 500 and nothing outside the contract for ${rounds.length * roundSize} mutated requests`, {
  timeout: 600_000,
}, async () => {
  const changes = mutationsFor(seed, Math.max(...rounds) + roundSize);
  const statuses: Record<number, number> = {};
  const succeeded = new Set<string>();
  const violations: string[] = [];
  const runRound = async (first: number) => {
    const operation = all[(first / roundSize) % all.length] as ContractOperation;
    const valid = await prepare(operation, first);
    const requests = changes.slice(first, first + roundSize).map((mutations) => mutate(operation, valid, mutations));
    await Promise.all(
      requests.map(async (request, index) => {
        const response = await send(request);
        try {
          if (response.status === 500) throw new Error(response.text);
          checkAgainstContract(request.method, request.path, response);
        } catch (error) {
          const sent = JSON.stringify(request).slice(0, 1000);
          violations.push(`FUZZ_SEED=${seed} FUZZ_PATH=${first + index}: ${sent}\n${(error as Error).message}`);
        }
        statuses[response.status] = (statuses[response.status] ?? 0) + 1;
        if (response.status < 300 && request.method === operation.method) succeeded.add(operation.id);
      }),
    );
  };
  for (let next = 0; next < rounds.length; next += concurrentRounds) {
    await Promise.all(rounds.slice(next, next + concurrentRounds).map(runRound));
  }
  expect(violations).toEqual([]);
  // If no request to an operation succeeded, all of them may have been rejected before they reached its handler. One round is
  // too short for some operations. For example, deleteKey succeeds only with a session, because the key did not create the other.
  const failedOnly = all.map(({ id }) => id).filter((id) => !succeeded.has(id));
  if (replayed === undefined) expect(failedOnly.slice(isFullRun ? 0 : 3)).toEqual([]);
  const counts = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`);
  console.log(`Mutated requests, seed ${seed}, ${all.length} operations: ${counts.join(', ')}`);
});

/** Returns the number of the first request of each round. A replay runs only the round of the given request. */
function roundsToRun(): number[] {
  if (replayed !== undefined) return [replayed - (replayed % roundSize)];
  return Array.from({ length: isFullRun ? 250 : all.length }, (_, round) => round * roundSize);
}

/** Returns a valid request of a new user. One round in five uses a session, the others use a key. */
async function prepare({ id, body }: ContractOperation, first: number): Promise<ValidRequest> {
  const round = first / roundSize;
  const pass = Math.floor(round / all.length);
  const examples = Object.keys(body?.examples ?? {});
  // The offset grows with each pass over the operations, so that every operation is called with a session in one of five passes.
  const withSession = ((round % all.length) + pass) % 5 === 0;
  const user = await service.createUser(withSession ? password : undefined);
  const request = await validRequest(id, { service, user }, examples[pass % examples.length]);
  if (request.headers.Cookie !== undefined) return request;
  return { ...request, headers: withSession ? await signIn(service, user.email) : await keyHeader(user) };
}

async function keyHeader({ api }: TestUser): Promise<{ Authorization: string }> {
  const { body } = await api.post('/api/keys', { json: { name: 'Fuzz', scopes: allScopes } });
  return { Authorization: `Bearer ${body.data.key}` };
}

function send({ method, path, headers, body }: HttpRequest): Promise<ApiResponse> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
    const { hostname, port } = new URL(service.url);
    // The path is passed separately, because a URL object would resolve `..` before the request is sent.
    const request = http.request({ hostname, port, path, method, headers: { ...headers, ...length }, agent });
    request.on('error', reject);
    request.on('response', async (response) => {
      const text = await readText(response);
      const pairs = Object.entries(response.headersDistinct).map(([name, values]) => [name, (values ?? []).join(', ')] as [string, string]);
      resolve({ status: response.statusCode ?? 0, headers: new Headers(pairs), text, body: text === '' ? undefined : JSON.parse(text) });
    });
    request.end(body);
  });
}
