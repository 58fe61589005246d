// The order of errors is part of the contract. For every operation, each pair of mistakes that one request can contain gets the
// problem that comes first.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allScopes } from '../../src/auth/scopes.ts';
import type { Database } from '../../src/db/database.ts';
import type { ApiClient } from '../support/api-client.ts';
import { bundles, type ContractOperation, operations } from '../support/contract-operations.ts';
import { createDatabase } from '../support/database.ts';
import { argumentsOf, type Draft, type Mistake, mistakes, withMistakes } from '../support/mistakes.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { password, signIn, validRequest } from '../support/valid-requests.ts';

let database: Database;
let service: TestService;
/** Allows one request per minute. */
let busy: TestService;
/** Has quotas of zero. */
let full: TestService;
let user: TestUser;
let session: { Cookie: string };

beforeAll(async () => {
  database = await createDatabase();
  service = await startService({ signupOpen: true }, { database });
  busy = await startService({ signupOpen: true, rateLimitPerMinute: 1 }, { database });
  full = await startService({ maxWebsites: 0, maxMonitors: 0, maxProviders: 0 }, { database });
  user = await service.createUser(password);
  session = await signIn(service, user.email);
});
afterAll(async () => {
  for (const one of [full, busy, service]) await one.stop();
  await database.close();
});

test.each(Object.entries(bundles))('the %s contract documents this order', (_, { info }) => {
  const [, list = ''] = /the first of\s+this list is returned:([^.]+)\./.exec(info.description) ?? [];
  const documented = [...list.matchAll(/\d{3}/g)].map(([status]) => Number(status));
  // 429 and 409 need a service of their own, below.
  const tested = documented.filter((status) => status !== 429 && status !== 409);
  expect(mistakes.map(({ status }) => status).filter((status, index, all) => status !== all[index - 1])).toEqual(tested);
  expect(documented.filter((status) => !tested.includes(status))).toEqual([429, 409]);
});

describe.each(Object.values(operations))('$id', (operation) => {
  const possible = mistakes.filter(({ isPossible }) => isPossible(operation));

  test('reports the first of two mistakes', async () => {
    const valid = await validRequest(operation.id, { service, user });
    const clients = await clientsOf(service, user, operation);
    const combinations = [...possible.map((one) => [one]), ...pairsOf(possible)];
    const outcomes: string[] = [];
    for (const made of combinations) outcomes.push(await outcomeOf(clients, withMistakes(operation, valid, made)));
    expect(combinations.map((made, index) => `${titleOf(made)}: ${outcomes[index]}`)).toEqual(
      combinations.map((made) => `${titleOf(made)}: ${made[0]?.status} ${made[0]?.code}`),
    );
  });

  // A token has a limit of its own, which cannot be lowered.
  if (!operation.path.includes('{token}'))
    test('reports the rate limit before any mistake but those in the route and the credentials', async () => {
      const limited = await busy.createUser();
      const later = possible.filter(({ part }) => part !== 'route' && part !== 'credentials');
      const valid = await validRequest(operation.id, { service, user });
      const api = operation.credentials.includes('bearerKey') ? limited.api : busy.anonymous;
      const send = (made: Mistake[]) => api.request(...argumentsOf(withMistakes(operation, valid, made)));
      await send(later.slice(0, 1)); // It uses up the limit.
      for (const one of later) {
        const { status, body } = await send([one]);
        expect([titleOf([one]), status, body.code]).toEqual([titleOf([one]), 429, 'rate_limited']);
      }
    });

  if (/POST .*\/(websites|monitors|providers)$/.test(`${operation.method} ${operation.path}`))
    test('reports any mistake before the quota', async () => {
      const clients = await clientsOf(full, await full.createUser(), operation);
      const valid = await validRequest(operation.id, { service, user });
      expect(await outcomeOf(clients, withMistakes(operation, valid, []))).toBe('409 quota_exceeded');
      for (const one of possible) {
        expect(await outcomeOf(clients, withMistakes(operation, valid, [one]))).toBe(`${one.status} ${one.code}`);
      }
    });
});

/** The clients for the callers of a draft. A session goes into the headers. */
async function clientsOf(on: TestService, { withScopes, api }: TestUser, { scopes, credentials }: ContractOperation) {
  const withoutScope = scopes.length > 0 ? await withScopes(...allScopes.filter((scope) => !scopes.includes(scope))) : api;
  return { valid: credentials.includes('bearerKey') ? api : on.anonymous, none: on.anonymous, withoutScope, session: on.anonymous };
}

async function outcomeOf(clients: Record<Draft['caller'], ApiClient>, draft: Draft): Promise<string> {
  if (draft.caller === 'session') Object.assign(draft.request.headers, session);
  const { status, body } = await clients[draft.caller].request(...argumentsOf(draft));
  return `${status} ${body?.code}`;
}

function pairsOf(all: Mistake[]): [Mistake, Mistake][] {
  return all.flatMap((first, index) =>
    all.slice(index + 1).flatMap((second): [Mistake, Mistake][] => (first.part === second.part ? [] : [[first, second]])),
  );
}

function titleOf(made: Mistake[]): string {
  return made.map(({ status, part }) => `${status} (${part})`).join(' and ');
}
