// Every resource that has `updated_at`: an operation that changes the resource moves `updated_at` and the ETag, any other
// operation keeps both, and no other row changes.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ContractOperation, operations } from '../support/contract-operations.ts';
import { startReceivers } from '../support/receivers.ts';
import { bodySchema } from '../support/request-generator.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { storedRows } from '../support/stored-rows.ts';
import { type Body, encodeBody, sendRequest, validRequest } from '../support/valid-requests.ts';

const all = Object.values(operations);
const itemPath = /^(.*\/(websites|monitors|providers))\/\{id\}/;
const hasUpdatedAt = ({ responses }: ContractOperation) => JSON.stringify(responses['200']?.content ?? {}).includes('"updated_at"');
const updating = all.filter((one) => ['PUT', 'PATCH'].includes(one.method) && hasUpdatedAt(one));
const keeping = all.filter(
  (one) => itemPath.test(one.path) && !updating.includes(one) && !(one.method === 'DELETE' && one.path.endsWith('}')),
);

const longAgo = '2001-02-03T04:05:06.000Z';

let receivers: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;
let user: TestUser;
let other: TestUser;

beforeAll(async () => {
  receivers = await startReceivers();
  service = await startService({ delivery: receivers.delivery }, { net: receivers.net });
  [user, other] = [await service.createUser(), await service.createUser()];
  for (const { id } of updating) await validRequest(id, { service, user: other });
});
afterAll(async () => {
  await service.stop();
  await receivers.close();
});

test('every resource that has updated_at is covered', () => {
  const shown = all.filter((one) => one.method === 'GET' && one.path.endsWith('{id}') && hasUpdatedAt(one));
  expect(shown.length).toBeGreaterThan(0);
  for (const { path } of shown) {
    expect(path).toMatch(itemPath);
    expect(updating.map((one) => one.path)).toContain(path);
  }
});

/** The resources of the user were created and changed long ago, so that a change now is visible. */
async function prepare(operation: ContractOperation, example?: string) {
  const request = await validRequest(operation.id, { service, user }, example);
  const [, collection = '', table = ''] = itemPath.exec(operation.path) ?? [];
  const { id } = request.parameters;
  const age = () =>
    service.database.asUser(user.id, (em) => em.execute(`update ${table} set created_at = ?, updated_at = ?`, [longAgo, longAgo], 'run'));
  const read = async () => {
    const { body, headers } = await user.api.get(`${collection}/${id}`);
    return { data: body.data, etag: headers.get('ETag') };
  };
  /** The rows of both users, without this resource. */
  const readOthers = async () => {
    const rows = await storedRows(service.database, [user.id, other.id]);
    return rows.filter((row) => !(row.startsWith(`${table} `) && row.includes(`"id": ${id},`)));
  };
  await age();
  return { request, age, read, readOthers };
}

describe.each(updating)('$id', (operation) => {
  const examples = Object.entries((operation.body?.examples ?? {}) as Record<string, Body>);
  const inExamples = examples.flatMap(([, fields]) => Object.keys(fields));
  // The type of a provider cannot be changed. It is accepted, because it is part of what a client has read. The monitor of the examples
  // has no options of another type.
  const excluded = ['provider_type', 'heartbeat'];
  const changeable = Object.entries(bodySchema(operation).properties ?? {}).filter(([, { readOnly }]) => !readOnly);
  const inNoExample = changeable.map(([name]) => name).filter((name) => !inExamples.includes(name) && !excluded.includes(name));

  test.each(examples)('each field of the example %s moves updated_at and the ETag of this resource only', async (example, fields) => {
    const { request, age, read, readOthers } = await prepare(operation, example);
    const others = await readOthers();
    const { data } = await read();
    // Even a field that is sent with the stored value creates a new version.
    const stored = example === examples[0]?.[0] ? inNoExample.map((name) => [name, data[name]] as const) : [];
    for (const [name, value] of [...Object.entries(fields), ...stored]) expect([name, value]).not.toEqual([name, undefined]);
    for (const sent of [fields, ...[...Object.entries(fields), ...stored].map(([name, value]) => ({ [name]: value }))]) {
      const before = await read();
      const response = await sendRequest(user.api, operation, { ...request, ...encodeBody(operation, sent) });
      const after = await read();
      expect([response.status, response.body.data, response.headers.get('ETag')]).toEqual([200, after.data, after.etag]);
      expect([sent, versionOf(after.etag)]).not.toEqual([sent, versionOf(before.etag)]);
      expect(Date.parse(after.data.updated_at)).toBeGreaterThan(Date.parse(longAgo));
      expect(after.data.created_at).toBe(longAgo);
      await age();
    }
    expect(await readOthers()).toEqual(others);
  });

  test('a request without a field keeps updated_at and the ETag', async () => {
    const { request, read } = await prepare(operation);
    const before = await read();
    const { status, headers } = await sendRequest(user.api, operation, { ...request, ...encodeBody(operation, {}) });
    expect([status, headers.get('ETag')]).toEqual([200, before.etag]);
    expect(await read()).toEqual(before);
  });
});

test.each(keeping)('$id keeps updated_at and the ETag', async (operation) => {
  const { request, read } = await prepare(operation);
  const before = await read();
  const { status } = await sendRequest(user.api, operation, request);
  expect(status).toBeLessThan(300);
  expect(await read()).toEqual(before);
});

/** The kind, id and version of the settings, which If-Match compares. A hash would also change because of `updated_at`. */
function versionOf(etag: string | null): string | undefined {
  return etag?.replace(/(\.\d+)?-[0-9a-f]{16}"$/, '');
}
