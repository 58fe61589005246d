// Every operation that accepts an Idempotency-Key: a repeated request gets the first response again and changes nothing.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import type { ApiResponse } from '../support/api-client.ts';
import { type ContractOperation, operations } from '../support/contract-operations.ts';
import { createDatabase } from '../support/database.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { storedRows } from '../support/stored-rows.ts';
import { sendRequest, type ValidRequest, validRequest, withInvalidInput } from '../support/valid-requests.ts';

const repeatable = Object.values(operations).filter(({ parameters }) => parameters.some(({ name }) => name === 'Idempotency-Key'));

let database: Database;
let service: TestService;
/** Has quotas of zero, so that creating a resource is rejected after its validation. */
let full: TestService;

beforeAll(async () => {
  database = await createDatabase();
  service = await startService({}, { database });
  full = await startService({ maxWebsites: 0, maxMonitors: 0, maxProviders: 0 }, { database });
});
afterAll(async () => {
  await full.stop();
  await service.stop();
  await database.close();
});

const users = new Map<string, TestUser>();

/** All operations share the users and the keys of a test, because a key is separate for each path. */
async function userOf(name: string): Promise<TestUser> {
  const user = users.get(name) ?? (await service.createUser());
  users.set(name, user);
  return user;
}

const rowsOf = ({ id }: TestUser) => storedRows(database, [id]);
const isReplayed = ({ headers }: ApiResponse) => headers.get('Idempotent-Replayed');

test('every operation that creates something accepts the header, except sign-in and sign-up', () => {
  const creating = Object.values(operations).filter(({ method, responses }) => method === 'POST' && '201' in responses);
  expect(creating.filter((operation) => !repeatable.includes(operation)).map(({ id }) => id)).toEqual(['createSession', 'createUser']);
});

describe.each(repeatable)('$id', (operation) => {
  // The last status is that of the first request: if an operation can create and change, it creates first.
  const statuses = Object.keys(operation.responses).filter((status) => status < '300');
  const prepare = (user: TestUser, example?: string) => validRequest(operation.id, { service, user }, example);
  const send = ({ api }: TestUser, request: ValidRequest, key = 'once') =>
    sendRequest(api, operation, { ...request, headers: { ...request.headers, 'Idempotency-Key': key } });

  test('replays each successful status, and changes nothing', async () => {
    const user = await userOf('replay');
    const request = await prepare(user);
    for (const status of statuses.toReversed()) {
      const first = await send(user, request, status);
      expect([first.status, isReplayed(first)]).toEqual([Number(status), null]);
      const before = await rowsOf(user);
      const again = await send(user, request, status);
      expect(await rowsOf(user)).toEqual(before);
      if (declaresReplay(operation, status)) {
        expect([again.status, again.text, isReplayed(again)]).toEqual([Number(status), first.text, 'true']);
        for (const name of ['Location', 'ETag', 'Cache-Control']) expect(again.headers.get(name)).toBe(first.headers.get(name));
      } else {
        // The response contains a secret, so it is not stored.
        expect([again.status, again.body.code, again.body.id]).toEqual([409, 'already_created', first.body.data.id]);
      }
    }
  });

  test('rejects another body with the same key, and changes nothing', async () => {
    const user = await userOf('reuse');
    const { parameters, ...request } = await prepare(user);
    const another = await prepare(user, Object.keys(operation.body?.examples ?? {}).at(-1));
    await send(user, { ...request, parameters });
    const before = await rowsOf(user);
    const { status, body } = await send(user, { ...another, parameters });
    expect([status, body.code]).toEqual([422, 'idempotency_key_reused']);
    expect(await rowsOf(user)).toEqual(before);
  });

  test('runs the request of another user, and one with another path', async () => {
    const [user, other] = [await userOf('one'), await userOf('other')];
    const responses = [await send(user, await prepare(user)), await send(other, await prepare(other))];
    if (operation.path.includes('{')) responses.push(await send(user, await prepare(user)));
    for (const response of responses) expect([response.status, isReplayed(response)]).toEqual([Number(statuses.at(-1)), null]);
    expect(new Set(responses.map(({ text }) => text)).size).toBe(responses.length);
  });

  test('stores nothing for a rejected request, so that it can be corrected and sent again', async () => {
    const user = await userOf('rejected');
    const request = await prepare(user);
    const before = await rowsOf(user);
    expect((await send(user, withInvalidInput(operation, request))).status).toBe(422);
    if (operation.path.includes('{')) {
      const unknown = { ...request, parameters: { id: Number.MAX_SAFE_INTEGER } };
      expect((await send(user, unknown)).status).toBe(404);
    }
    expect(await rowsOf(user)).toEqual(before);
    const accepted = await send(user, request);
    expect([accepted.status, isReplayed(accepted)]).toEqual([Number(statuses.at(-1)), null]);
  });
});

test('stores nothing for a request that is rejected because of a quota', async () => {
  const limited = repeatable.filter(({ path }) => /\/(websites|monitors|providers)$/.test(path));
  expect(limited.length).toBe(3);
  for (const operation of limited) {
    const user = await full.createUser();
    const valid = await validRequest(operation.id, { service: full, user });
    const rejected = await sendRequest(user.api, operation, { ...valid, headers: { 'Idempotency-Key': 'once' } });
    expect([rejected.status, rejected.body.code]).toEqual([409, 'quota_exceeded']);
    expect((await rowsOf(user)).join()).not.toContain('idempotent_responses');
  }
});

function declaresReplay({ responses }: ContractOperation, status: string): boolean {
  return 'Idempotent-Replayed' in (responses[status]?.headers ?? {});
}
