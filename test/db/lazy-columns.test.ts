// Records the statements that all operations run. None of them reads a hash, except those that verify a password. On PostgreSQL,
// it also sees what MikroORM sends.
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { type OperationId, operations } from '../support/contract-operations.ts';
import { createDatabase } from '../support/database.ts';
import { startService, type TestService } from '../support/service.ts';
import { pathOf, validRequest } from '../support/valid-requests.ts';

let service: TestService;
const texts = new Set<string>();

beforeAll(async () => {
  const database = await createDatabase();
  const { query } = database;
  const recorded: Database = Object.assign(database, {
    query(userId?: number) {
      const run = query.call(database, userId);
      return ((...statements) => {
        for (const { text } of statements) texts.add(text);
        return run(...statements);
      }) as typeof run;
    },
  });
  const send = pg.Client.prototype.query as (...args: unknown[]) => unknown;
  vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
    const [query] = args as [string | { text?: string }];
    texts.add(typeof query === 'string' ? query : (query.text ?? ''));
    return send.apply(this, args);
  } as never);
  service = await startService({}, { database: recorded });
});
afterAll(async () => {
  vi.restoreAllMocks();
  await service.stop();
});

/** What a statement returns: the list after SELECT or RETURNING. */
function returnedBy(text: string): string {
  return [...text.matchAll(/\b(?:select|returning)\b(.*?)(?=\bfrom\b|\bwhere\b|$)/gis)].map(([, list]) => list).join(', ');
}

test('no operation reads a hash, but for the password of a website that is verified', async () => {
  for (const id of Object.keys(operations) as OperationId[]) {
    const user = await service.createUser();
    const request = await validRequest(id, { service, user });
    const { parameters, query, ...options } = request;
    const response = await user.api.request(operations[id].method, pathOf(operations[id], request), options);
    expect([id, response.status < 500 || id === 'testProvider']).toEqual([id, true]);
  }
  const reading = [...texts].filter((text) => /_hash\b/.test(returnedBy(text)));
  expect(texts.size).toBeGreaterThan(30);
  expect(reading.map((text) => text.slice(0, 60))).toEqual([expect.stringMatching(/^select "id", "user_id" as "userId", "privacy"/)]);
});

test.each([
  ['select "key_hash" as "keyHash" from "api_keys"', true],
  ['update "websites" set "password_hash" = $1 returning "id"', false],
  ['update "websites" set "favorite" = $1 returning "id", "password_hash"', true],
  ['select id from users where password_hash = $1', false],
])('recognizes what %s returns', (text, reads) => {
  expect(/_hash\b/.test(returnedBy(text))).toBe(reads);
});
