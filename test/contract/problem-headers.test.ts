// The headers of every problem: the contract declares them for each operation and status, and the response check, which every
// test and every contract run uses, detects one that is missing, wrong or not declared.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ContractOperation, operations } from '../support/contract-operations.ts';
import { createDatabase } from '../support/database.ts';
import { ContractViolation, checkAgainstContract } from '../support/response-check.ts';
import { type Case, cases, titleOf } from './cases/cases.ts';
import { buildRequest } from './cases/draft.ts';
import { startEnvironment, type TestEnvironment } from './cases/environment.ts';
import { prepare } from './cases/prepare.ts';
import { isImpossible } from './cases/report.ts';
import { responseTo } from './cases/run-cases.ts';

const rateLimit = ['RateLimit-Policy', 'RateLimit', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];

test.each(Object.values(operations))('$id declares the headers of each problem', ({ id, responses }: ContractOperation) => {
  const problems = Object.entries(responses).filter(([status]) => status >= '400');
  expect(problems.length).toBeGreaterThan(5);
  for (const [status, { headers = {}, content = {} }] of problems) {
    const expected = [
      'X-Request-Id',
      ...(status === '431' ? [] : rateLimit), // The request is rejected before it is counted.
      ...(status === '401' ? ['WWW-Authenticate'] : []),
      ...(status === '429' || status === '503' ? ['Retry-After'] : []),
    ];
    expect([status, Object.keys(headers).toSorted()]).toEqual([status, expected.toSorted()]);
    expect([status, Object.keys(content)]).toEqual([status, ['application/problem+json']]);
    // Only a delivery that is not configured has no time after which a retry makes sense.
    const optional = Object.keys(headers).filter((name) => !headers[name]?.required);
    expect([status, optional]).toEqual([status, id === 'testProvider' && status === '503' ? ['Retry-After'] : []]);
  }
});

describe('the response check', () => {
  let environment: TestEnvironment;
  beforeAll(async () => {
    environment = await startEnvironment(await createDatabase());
  });
  afterAll(() => environment.stop());

  /** One case of each status, because the headers depend only on the status. */
  const byStatus = new Map(cases.filter((one) => one.status >= 400 && !isImpossible(one)).map((one) => [one.status, one]));
  const titled: [string, Case][] = [...byStatus.values()].map((one) => [titleOf(one), one]);

  test.each(titled)('detects each header that is missing, wrong or not declared in %s', async (_, testCase) => {
    const draft = await prepare(testCase, environment);
    const { method, path } = buildRequest(draft);
    const response = await responseTo(draft);
    const check = (change: (headers: Headers) => void) => {
      const headers = new Headers(response.headers);
      change(headers);
      checkAgainstContract(method, path, { ...response, headers }, { allowsOtherHeaders: false });
    };
    check(() => {});
    const declared = Object.entries(testCase.operation.responses[testCase.status]?.headers ?? {}).filter(([, { required }]) => required);
    const general = ['Cache-Control', 'Content-Type', 'X-Content-Type-Options', ...(testCase.status === 431 ? [] : ['Vary'])];
    for (const name of [...declared.map(([one]) => one), ...general]) {
      expect(() => check((headers) => headers.delete(name))).toThrow(ContractViolation);
      expect(() => check((headers) => headers.set(name, '?'))).toThrow(ContractViolation);
    }
    expect(() => check((headers) => headers.set('X-Powered-By', 'something'))).toThrow(ContractViolation);
    expect(() => check((headers) => headers.set('Allow', 'GET'))).toThrow(ContractViolation);
  });
});
