import { describe, expect, test } from 'vitest';
import { AlreadyCreated, InvalidRequest, type ProblemCode, ProblemError, RetryLaterError } from '../../src/errors.ts';
import { encodePath, problemBody, problems, serializeProblem, writeProblem } from '../../src/http/problems.ts';
import { operations } from '../support/contract-operations.ts';
import { koaContext } from '../support/koa-context.ts';

const about = { publicUrl: 'https://sitekeeper.example', instance: '/api/a b', requestId: 'r-1' };

describe('the status and the title of a problem', () => {
  type Problem = { code: ProblemCode; status: number; title: string };
  const examples = Object.values(operations)
    .flatMap(({ responses }) => Object.values(responses))
    .flatMap(({ content = {} }) => Object.values(content['application/problem+json']?.examples ?? {}))
    .map(({ value }) => value as Problem);
  /** Problems of requests that reach no operation, so the contract has no example of them. */
  const others: Problem[] = [
    { code: 'malformed_request', status: 400, title: 'Malformed request' },
    { code: 'method_not_allowed', status: 405, title: 'Method not allowed' },
    { code: 'request_timeout', status: 408, title: 'Request timeout' },
  ];
  const declared = new Map([...examples, ...others].map(({ code, status, title }) => [code, { status, title }]));

  test.each(Object.entries(problems))('of %s are those that the contract shows', (code, problem) => {
    expect(problem).toEqual(declared.get(code as ProblemCode));
  });
});

describe('problemBody', () => {
  test('has the members of RFC 9457, the code and the id of the request', () => {
    expect(problemBody(new ProblemError('not_found', 'Gone.'), about)).toEqual({
      type: 'https://sitekeeper.example/docs/problems/not_found',
      title: 'Not found',
      status: 404,
      detail: 'Gone.',
      instance: '/api/a%20b',
      code: 'not_found',
      request_id: 'r-1',
    });
  });

  test('has the errors of an invalid request', () => {
    const errors = [{ in: 'body', pointer: '/a', code: 'required', message: 'is required' }] as const;
    expect(problemBody(new InvalidRequest([...errors]), about)).toMatchObject({ status: 422, errors });
  });

  test('has the id of a resource that was created before', () => {
    const problem = new AlreadyCreated({ name: 'API key', id: 5 }, { containsSecret: true });
    expect(problemBody(problem, about)).toMatchObject({ status: 409, id: 5 });
  });
});

describe('encodePath', () => {
  test.each([
    ["/api/A0_-.~!$&'()*+,;=:@", "/api/A0_-.~!$&'()*+,;=:@"],
    ['/a b/<c>"?#', '/a%20b/%3Cc%3E%22%3F%23'],
    ['/ä€', '/%C3%A4%E2%82%AC'],
    ['/%41%e2', '/%41%e2'],
    ['/%/%z/%4', '/%25/%25z/%254'],
    ['/\ud800', '/%EF%BF%BD'],
  ])('%j becomes %s', (path, encoded) => expect(encodePath(path)).toBe(encoded));

  test('keeps 2,048 characters and cuts what follows', () => {
    expect(encodePath('x'.repeat(2048))).toBe('x'.repeat(2048));
    expect(encodePath('x'.repeat(2049))).toBe('x'.repeat(2048));
  });

  test.each([
    ['a whole encoded character', 'x'.repeat(2045), `${'x'.repeat(2045)}%3C`],
    ['no percent sign without digits', 'x'.repeat(2047), 'x'.repeat(2047)],
    ['no percent sign with one digit', 'x'.repeat(2046), 'x'.repeat(2046)],
  ])('keeps %s at the end', (_, start, encoded) => expect(encodePath(`${start}<<<`)).toBe(encoded));
});

test('serializeProblem hides an API key in the path', () => {
  const key = `stkp_${'a'.repeat(36)}`;
  const text = serializeProblem(problemBody(new ProblemError('not_found', 'Gone.'), { ...about, instance: `/api/${key}` }));
  expect(text).not.toContain(key);
  expect(JSON.parse(text)).toMatchObject({ code: 'not_found', request_id: 'r-1' });
});

describe('writeProblem', () => {
  function write(problem: ProblemError) {
    const ctx = koaContext({ url: '/api/a%20b?secret=1' });
    ctx.state.requestId = 'r-1';
    writeProblem(ctx, problem, about.publicUrl);
    return { status: ctx.status, headers: { ...ctx.res.getHeaders() }, body: JSON.parse(ctx.body as string) };
  }
  const always = { 'content-type': 'application/problem+json', 'cache-control': 'no-store' };

  test('writes the body of the problem, which no cache keeps', () => {
    const problem = new ProblemError('not_found', 'Gone.');
    expect(write(problem)).toEqual({
      status: 404,
      headers: expect.objectContaining(always),
      body: problemBody(problem, { ...about, instance: '/api/a%20b' }),
    });
  });

  test.each([
    ['how to authenticate', new ProblemError('unauthenticated', 'x'), { 'www-authenticate': 'Bearer' }],
    ['when to retry', new RetryLaterError('rate_limited', 'x', 7), { 'retry-after': '7' }],
    [
      'that the connection ends, because the rest of the body is not read',
      new ProblemError('body_too_large', 'x'),
      { connection: 'close' },
    ],
    ['nothing else', new ProblemError('missing_scope', 'x'), {}],
  ])('tells the client in a header: %s', (_, problem, headers) => {
    const { 'content-length': _length, ...written } = write(problem).headers;
    expect(written).toEqual({ ...always, ...headers });
  });
});
