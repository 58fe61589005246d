import fc from 'fast-check';
import { type ContractOperation, operations } from '../../support/contract-operations.ts';
import { type Body, pathOf, type ValidRequest } from '../../support/valid-requests.ts';

export interface HttpRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string;
}

/** A change to a request. `pick` selects the part to change, `value` is the new value. */
export type Mutation = { kind: keyof typeof mutations; pick: number; value: unknown };

const texts = [
  // Boundary values and special characters
  ...['', ' ', '0', '1', '-1', '1e9', '0x10', '00', 'true', 'null', 'NaN', '*', '"', "'", '%', '%00', '..', '../..', '\u0000', '\ud800'],
  // Values that some parameters and fields accept
  ...['http', 'ping', 'slack', 'email', 'up', 'down', '24h', '1y', 'asc', 'desc', 'monitors:read', '****abcd', 'W/"1"', '"1"', '*, "1"'],
  ...[
    'https://example.com',
    'http://127.0.0.1',
    'http://[::1]/',
    'example.com',
    'a@b.example',
    '+4915112345678',
    'bücher.example',
    'xn--a',
  ],
  ...['2099-01-01T00:00:00Z', '2026-02-30T00:00:00Z', '0000-01-01', 'application/json', 'text/plain', 'gzip', '10.0.0.0/8\n::1'],
  // Unusual characters, long texts and injection attempts
  ...['👩‍👩‍👧', '\u202e', 'x'.repeat(101), 'x'.repeat(300), 'x'.repeat(2000), 'é'.repeat(128)],
  ...['\n', '\r\nX-Injected: 1', '<script>', "' or 1=1 --", '{"a":1}', '[]'],
];
const otherValues = [
  ...[null, true, false, 0, 1, -1, 1.5, 30, 86_400, 2 ** 31, 2 ** 53, -(2 ** 53), 1e21, 1e308],
  ...[[], {}, [[]], { $ref: '#' }, ['monitors:read']],
];

const value = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<unknown>(...texts) },
  { weight: 2, arbitrary: fc.constantFrom<unknown>(...otherValues) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }) },
  { weight: 1, arbitrary: fc.integer() },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
);

interface Draft {
  operation: ContractOperation;
  method: string;
  path: string;
  query: string[];
  headers: Record<string, string>;
  fields: Body;
  /** Changes to the encoded body. */
  bodyEdits: ((text: string) => string)[];
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'];
const headerNames = [
  ...['If-Match', 'If-None-Match', 'Idempotency-Key', 'Accept', 'Content-Type', 'Content-Encoding', 'X-Request-Id', 'Origin'],
  ...['Sec-Fetch-Site', 'Authorization', 'Cookie', 'Accept-Language', 'Range', 'X-Forwarded-For', 'X-HTTP-Method-Override', 'Expect'],
];

const mutations = {
  none() {},
  changeField({ fields }: Draft, pick: number, given: unknown) {
    const name = Object.keys(fields)[pick % Object.keys(fields).length];
    if (name !== undefined) fields[name] = given;
  },
  dropField({ fields }: Draft, pick: number) {
    delete fields[String(Object.keys(fields)[pick % Object.keys(fields).length])];
  },
  /** Adds a field of another example or operation, or an unknown field. */
  addField({ fields }: Draft, pick: number, given: unknown) {
    fields[pick % 3 === 0 ? asText(given) : String(fieldNames[pick % fieldNames.length])] = given;
  },
  changeParameter(draft: Draft, pick: number, given: unknown) {
    const segments = draft.path.split('/');
    const at = segments.length - 1 - (pick % 3);
    if (at > 1) draft.path = segments.with(at, encodeURIComponent(asText(given).toWellFormed())).join('/');
  },
  addQuery({ query, operation }: Draft, pick: number, given: unknown) {
    const names = operation.parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
    query.push(`${names[pick % names.length] ?? 'page'}=${encodeURIComponent(asText(given).toWellFormed())}`);
  },
  rawQuery({ query }: Draft, _: number, given: unknown) {
    query.push(asText(given).replaceAll(/[^!-~]|#/g, '')); // The HTTP parser rejects other characters and has its own tests.
  },
  changeHeader({ headers }: Draft, pick: number, given: unknown) {
    headers[String(headerNames[pick % headerNames.length])] = headerSafe(asText(given));
  },
  dropCredentials({ headers }: Draft) {
    delete headers.Authorization;
    delete headers.Cookie;
  },
  changeMethod(draft: Draft, pick: number) {
    draft.method = String(methods[pick % methods.length]);
  },
  changePath(draft: Draft, _: number, given: unknown) {
    draft.path += `/${encodeURIComponent(asText(given).toWellFormed())}`;
  },
  cutBody({ bodyEdits }: Draft, pick: number) {
    bodyEdits.push((text) => text.slice(0, pick % (text.length + 1)));
  },
  insertIntoBody({ bodyEdits }: Draft, pick: number, given: unknown) {
    bodyEdits.push((text) => text.slice(0, pick % (text.length + 1)) + asText(given) + text.slice(pick % (text.length + 1)));
  },
  replaceBody({ bodyEdits }: Draft, _: number, given: unknown) {
    bodyEdits.push(() => JSON.stringify(given));
  },
  repeatBody({ bodyEdits }: Draft, pick: number) {
    bodyEdits.push((text) => text + (pick % 2 === 0 ? '&' : '') + text);
  },
};

const fieldNames = [...new Set(Object.values(operations).flatMap(({ body }) => Object.values(body?.examples ?? {}).flatMap(Object.keys)))];

/** Returns the mutations for `count` requests, one to three for each. The same seed gives the same mutations. */
export function mutationsFor(seed: number, count: number): Mutation[][] {
  const kinds = Object.keys(mutations) as Mutation['kind'][];
  const mutation = fc.record({ kind: fc.constantFrom(...kinds), pick: fc.nat(9999), value });
  return fc.sample(fc.array(mutation, { minLength: 1, maxLength: 3 }), { seed, numRuns: count });
}

export function mutate(operation: ContractOperation, request: ValidRequest, changes: Mutation[]): HttpRequest {
  const isForm = operation.body?.mediaType === 'application/x-www-form-urlencoded';
  const draft: Draft = {
    operation,
    method: operation.method,
    path: pathOf(operation, { parameters: request.parameters }),
    query: [],
    headers: { ...request.headers, ...(operation.body && { 'Content-Type': operation.body.mediaType }) },
    fields: { ...(request.form ?? request.json) },
    bodyEdits: [],
  };
  for (const { kind, pick, value } of changes) mutations[kind](draft, pick, value);
  const { method, path, query, headers, fields, bodyEdits } = draft;
  const text = isForm
    ? String(new URLSearchParams(Object.entries(fields).map(([name, value]) => [name, asText(value)] as [string, string])))
    : JSON.stringify(fields);
  const hasBody = operation.body !== undefined || bodyEdits.length > 0 || Object.keys(fields).length > 0;
  return {
    method,
    path: query.length > 0 ? `${path}?${query.join('&')}` : path,
    headers,
    ...(hasBody && { body: bodyEdits.reduce((edited, edit) => edit(edited), text) }),
  };
}

function asText(given: unknown): string {
  return typeof given === 'string' ? given : JSON.stringify(given);
}

/** Removes the characters that an HTTP client cannot send in a header. The HTTP parser has its own tests for them. */
function headerSafe(text: string): string {
  return text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '').slice(0, 2000);
}
