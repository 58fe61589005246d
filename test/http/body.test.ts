import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKey } from '../../src/accounts/keys.ts';
import { generateKey } from '../../src/auth/api-key.ts';
import { expectRawProblem, rawExchange } from '../support/raw-http.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;
const logged: Record<string, unknown>[] = [];

beforeAll(async () => {
  service = await startService({}, { log: pino({ level: 'info' }, { write: (line: string) => logged.push(JSON.parse(line)) }) });
  user = await service.createUser();
});
afterAll(() => service.stop());

const json = { 'Content-Type': 'application/json' };
const post = (raw: string | Uint8Array<ArrayBuffer> | ReadableStream, headers: Record<string, string> = json) =>
  user.api.post('/api/monitors', { headers, raw });

test.each([
  [
    'another media type',
    { 'Content-Type': 'text/plain' },
    'This operation accepts application/json in UTF-8, not text/plain. Set Content-Type accordingly.',
  ],
  [
    'another charset',
    { 'Content-Type': 'application/json; charset=iso-8859-1' },
    'This operation accepts application/json in UTF-8, not application/json; charset=iso-8859-1. Set Content-Type accordingly.',
  ],
  ['an unknown Content-Encoding', { ...json, 'Content-Encoding': 'zstd' }, 'The Content-Encoding of the body is not supported.'],
])('returns 415 for %s', async (_, headers, detail) => {
  const { status, body } = await post('{}', headers as Record<string, string>);
  expect([status, body.code, body.detail]).toEqual([415, 'unsupported_media_type', detail]);
});

test('returns 413 for a body of 1 MB, with Content-Length or chunked', async () => {
  const chunked = new ReadableStream({
    start(controller) {
      for (let chunk = 0; chunk < 100; chunk++) controller.enqueue(new Uint8Array(10_000));
      controller.close();
    },
  });
  for (const raw of ['x'.repeat(1_000_000), chunked]) {
    const { status, body } = await post(raw);
    expect([status, body.code, body.detail]).toEqual([413, 'body_too_large', 'The body is larger than 256 KiB.']);
  }
});

test.each([
  ['a trailing comma', '{"a":1,}'],
  ['half an object', '{"a":'],
])('returns 400 for JSON with %s', async (_, raw) => {
  const { status, body } = await post(raw);
  expect([status, body.code, body.title]).toEqual([400, 'malformed_json', 'Malformed JSON']);
  expect(body.detail).toMatch(/^The body is not valid JSON: .+\.$/);
});

test.each([
  ['a repeated key', '{"url":"a","url":"a"}', '"url"'],
  ['a key that is repeated with an escape', '{"url":"a","\\u0075rl":"b"}', '"\\u0075rl"'],
  ['a key that is repeated in a nested object', '{"x":[{"y":{"z":1,"z":1}}]}', '"z"'],
  ['a key that is repeated after a nested object', '{"x":{"y":[{}]},"z":[{"x":1}],"x":1}', '"x"'],
  ['a key that is repeated with space before the colon', '{"url" :"a","url"\t\r\n :"a"}', '"url"'],
  ['a repeated key after a text with quotes and brackets', '{"a":"\\"}{[:\\\\","b":1,"b":2}', '"b"'],
  ['a repeated empty key', '{"":1,"":2}', '""'],
  ['a repeated __proto__', '{"__proto__":1,"__proto__":2}', '"__proto__"'],
])('returns 400 for JSON with %s', async (_, raw, key) => {
  const { status, body } = await post(raw);
  expect([status, body.code]).toEqual([400, 'duplicate_key']);
  expect(body.detail).toBe(`The key ${key} appears more than once in the same JSON object.`);
});

test.each([
  ['in different objects', '[{"a":1},{"a":1},{"b":{"a":1},"a":1}]'],
  ['as values', '{"a":"a","b":"a","c":["a","a"]}'],
  ['as parts of texts', '{"a":"\\"a\\":1,\\"a\\":","b":"\\"a\\":"}'],
])('accepts equal texts %s', async (_, raw) => {
  expect((await post(raw)).body.code).toBe('validation_failed');
});

test('returns 400 for JSON that is not UTF-8', async () => {
  const { status, body } = await post(new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]));
  expect([status, body.code, body.detail]).toEqual([400, 'malformed_encoding', 'The body is not valid UTF-8.']);
});

test('returns 400 for a body that ends before its Content-Length, and logs it as malformed_request', async () => {
  const key = generateKey();
  await service.database.asUser(user.id, (em) => createKey(em, { userId: user.id, key, name: 'Test', scopes: ['monitors:write'] }));
  const head = `POST /api/monitors HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n`;
  logged.length = 0;
  const response = await rawExchange(service.url, (socket) => {
    socket.write(`${head}{"friendly_name":`);
    // The end must arrive while the body is being read.
    setTimeout(() => socket.end(), 300);
  });
  expectRawProblem(response, 400, 'malformed_request', 'a body cut short');
  expect(JSON.parse(response.body).title).toBe('Malformed request');
  await expect.poll(() => logged).toContainEqual(expect.objectContaining({ operation: 'createMonitor', problem: 'malformed_request' }));
});

test.each([
  ['a text', `{"a": "${'x'.repeat(200_000)}`],
  ['a short text', `{"a": "${'x'.repeat(60)}`],
  ['escaped quotes', `{"a": "${'\\"'.repeat(9000)}`],
  ['backslashes', `{"a": "${'\\'.repeat(199_999)}`],
])('returns 400 at once for %s that does not end', async (_, raw) => {
  const { status, body } = await post(raw);
  expect([status, body.code]).toEqual([400, 'malformed_json']);
});

test.each(['[', '{', '"'])('counts %s before it parses JSON, and returns 422 for more than 20,000', async (mark) => {
  expect((await post(mark.repeat(20_000))).body.code).toBe('malformed_json');
  const { status, body } = await post(mark.repeat(20_001));
  expect([status, body.errors]).toEqual([422, [{ in: 'body', pointer: '', code: 'max_items', message: 'must not have that many values' }]]);
});
