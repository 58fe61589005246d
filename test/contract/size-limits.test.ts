// Every limit that the contract declares is exact: the largest and the smallest value are accepted, and the next one is
// rejected with the code of the limit.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ContractOperation, operations } from '../support/contract-operations.ts';
import { type Limit, limitsOf } from '../support/limits.ts';
import { startReceivers } from '../support/receivers.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { encodeBody, pathOf, sendRequest, type ValidRequest, validRequest } from '../support/valid-requests.ts';

let receivers: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;
let user: TestUser;

beforeAll(async () => {
  receivers = await startReceivers();
  service = await startService({ delivery: receivers.delivery, signupOpen: true }, { net: receivers.net });
  await service.createUser(); // The ids of this user are the smallest ones, which the tests use in paths.
  user = await service.createUser();
});
afterAll(async () => {
  await service.stop();
  await receivers.close();
});

const all = Object.values(operations);
const limited = all
  .map((operation) => ({ operation, id: operation.id, limits: limitsOf(operation) }))
  .filter(({ limits }) => limits.length > 0);
const apiOf = ({ credentials }: ContractOperation) => (credentials.includes('bearerKey') ? user.api : service.anonymous);

describe.each(limited)('$id', ({ operation, limits }) => {
  const prepared = new Map<string | undefined, ValidRequest>();
  /** A request with a session or a password can change what the next one needs, so it is prepared each time. */
  const prepare = async (variant: string | undefined) => {
    const known = operation.credentials.includes('bearerKey') ? prepared.get(variant) : undefined;
    const request = known ?? (await validRequest(operation.id, { service, user }, variant));
    prepared.set(variant, request);
    return request;
  };

  test.each(limits)('$keyword of $name in the $in is exact', async (limit) => {
    const { in: location, name, code, variant, allowed, beyond } = limit;
    const codesFor = async (value: unknown) => {
      const request = withValue(operation, await prepare(variant), limit, value);
      const { status, body } = await sendRequest(apiOf(operation), operation, request);
      expect(status).toBeLessThan(500);
      const about = ((body?.errors ?? []) as { in: string; name?: string; pointer?: string; code: string }[]).filter(
        (error) => error.in === location && (error.name ?? error.pointer) === (location === 'body' ? `/${name}` : name),
      );
      return about.map((error) => error.code);
    };
    for (const value of allowed) expect((await codesFor(value)).filter((found) => schemaCodes.includes(found))).toEqual([]);
    for (const value of beyond) expect(await codesFor(value)).toContain(code);
  });
});

/** The codes of errors that follow from the schema. */
const schemaCodes = [
  'type',
  'enum',
  'minimum',
  'maximum',
  'min_length',
  'max_length',
  'min_items',
  'max_items',
  'pattern',
  'format',
  'form',
  'length',
];

test('only for these is no value at the limit valid', () => {
  const without = limited.flatMap(({ limits }) => limits.filter(({ allowed }) => allowed.length === 0));
  expect([...new Set(without.map(({ name, keyword }) => `${keyword} of ${name}`))].toSorted()).toEqual([
    'maxLength of chat_id',
    'minLength of webhook_url',
  ]);
});

test.each(all.filter(({ body }) => body))('$id rejects a body for its size from 256 KiB and one byte on', async (operation) => {
  const valid = await validRequest(operation.id, { service, user });
  const isJson = operation.body?.mediaType === 'application/json';
  const text = isJson ? JSON.stringify(valid.json) : `${new URLSearchParams(valid.form)}&padding=`;
  const headers = { ...valid.headers, 'Content-Type': operation.body?.mediaType ?? '' };
  const send = (bytes: number) =>
    apiOf(operation).request(operation.method, pathOf(operation, valid), { headers, raw: text.padEnd(bytes, isJson ? ' ' : 'x') });
  const maximum = 256 * 1024;
  const tooLarge = await send(maximum + 1);
  expect([tooLarge.status, tooLarge.body.code]).toEqual([413, 'body_too_large']);
  expect((await send(maximum)).status).not.toBe(413);
});

function withValue(operation: ContractOperation, valid: ValidRequest, { in: location, name }: Limit, value: unknown): ValidRequest {
  if (location === 'path') return { ...valid, parameters: { [name]: String(value) } };
  if (location === 'query') return { ...valid, query: { [name]: String(value) } };
  if (location === 'header') return { ...valid, headers: { ...valid.headers, [name]: String(value) } };
  return { ...valid, ...encodeBody(operation, { ...valid.json, ...valid.form, [name]: value }) };
}
