// Random requests, the same for the same seed: FUZZ_SEED=… npm run test:faults -- test/faults/fuzz.test.ts
import http from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { afterAll, beforeAll, expect } from 'vitest';
import { allScopes } from '../../src/auth/scopes.ts';
import type { ApiResponse } from '../support/api-client.ts';
import { type ContractOperation, operations } from '../support/contract-operations.ts';
import { startReceivers } from '../support/receivers.ts';
import { checkAgainstContract } from '../support/response-check.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { password, signIn, type ValidRequest, validRequest } from '../support/valid-requests.ts';
import { fault } from './fault.ts';
import { mutate, mutationsFor, type WireRequest } from './support/mutations.ts';

const seed = Number(process.env.FUZZ_SEED ?? 27);
const total = 10_000;
/** Requests to one object, before there is a new one: many of them change or delete it. */
const round = 20;
const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });

let others: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;

beforeAll(async () => {
  others = await startReceivers();
  service = await startService({ delivery: others.delivery, signupOpen: true }, { net: others.net });
});
afterAll(async () => {
  agent.destroy();
  await service.stop();
  await others.close();
});

fault(
  27,
  '10,000 random and mutated requests to every operation: no 500, no answer outside the contract',
  async () => {
    const all = Object.values(operations);
    const changes = mutationsFor(seed, total);
    const statuses: Record<number, number> = {};
    const succeeded = new Set<string>();
    const breaches: string[] = [];
    const runRound = async (first: number) => {
      const operation = all[(first / round) % all.length] as ContractOperation;
      const valid = await prepare(operation, first);
      const requests = changes.slice(first, first + round).map((change) => mutate(operation, valid, change));
      await Promise.all(
        requests.map(async (request, index) => {
          const answer = await send(request);
          try {
            if (answer.status === 500) throw new Error(answer.text);
            checkAgainstContract(request.method, request.path, answer);
          } catch (error) {
            breaches.push(`seed ${seed}, request ${first + index}: ${JSON.stringify(request).slice(0, 1000)}\n${(error as Error).message}`);
          }
          statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
          if (answer.status < 300) succeeded.add(operation.id);
        }),
      );
    };
    for (let first = 0; first < total; first += 4 * round) await Promise.all([0, 1, 2, 3].map((next) => runRound(first + next * round)));
    expect(breaches).toEqual([]);
    // Otherwise they would all have been refused at the door.
    expect(all.map(({ id }) => id).filter((id) => !succeeded.has(id))).toEqual([]);
    const counts = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`);
    return `seed ${seed}, ${all.length} operations: ${counts.join(', ')}`;
  },
  300_000,
);

/** A valid request of a user of its own, in turn with a key and with a session. */
async function prepare({ id, body }: ContractOperation, turn: number): Promise<ValidRequest> {
  const examples = Object.keys(body?.examples ?? {});
  const withSession = (turn / round) % 8 === 0;
  const user = await service.createUser(withSession ? password : undefined);
  const request = await validRequest(id, { service, user }, examples[(turn / round) % examples.length]);
  if (request.headers.Cookie !== undefined) return request;
  return { ...request, headers: withSession ? await signIn(service, user.email) : await keyOf(user) };
}

async function keyOf({ api }: TestUser): Promise<{ Authorization: string }> {
  const { body } = await api.post('/api/keys', { json: { name: 'Fuzz', scopes: allScopes } });
  return { Authorization: `Bearer ${body.data.key}` };
}

function send({ method, path, headers, body }: WireRequest): Promise<ApiResponse> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
    const { hostname, port } = new URL(service.url);
    // The path as it is: in a URL, `..` would be resolved before it is sent.
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
