// The problem examples in the contract must show what the service returns. `npm run contract` and `contract:cases` compare them with
// the responses; these tests need no service.
import { describe, expect, test } from 'vitest';
import { InvalidRequest, type ProblemCode, type ValidationError } from '../../src/errors.ts';
import { problems } from '../../src/http/problems.ts';
import { operations } from '../support/contract-operations.ts';

interface ProblemExample {
  title: string;
  status: number;
  detail: string;
  code: ProblemCode;
  errors?: ValidationError[];
}

const examples = Object.values(operations).flatMap((operation) =>
  Object.entries(operation.responses).flatMap(([status, { content = {} }]) =>
    Object.entries(content['application/problem+json']?.examples ?? {}).map(([name, { value }]) => ({
      id: operation.id,
      name,
      declaredStatus: Number(status),
      problem: value as ProblemExample,
    })),
  ),
);

test('the contract has problem examples for every operation', () => {
  expect(new Set(examples.map(({ id }) => id)).size).toBe(Object.keys(operations).length);
});

describe.each([...Map.groupBy(examples, ({ id }) => id)])('%s', (_, own) => {
  test.each(own)('$name has the title and the status that the service returns for its code', ({ declaredStatus, problem }) => {
    const { code, title, status } = problem;
    expect({ code, title, status }).toEqual({ code, ...problems[code] });
    expect(status).toBe(declaredStatus);
  });

  test.each(own.filter(({ problem }) => problem.status === 404))('$name names the resource in its detail', ({ problem }) => {
    const resource =
      /^(?:(?:API key|Delivery|Incident|Monitor|Provider|Website) (?:\d+|"[^"]+") was not found|Provider \d+ is not assigned to monitor \d+|No monitor has this token)\./;
    expect(problem.detail).toMatch(resource);
  });
});

test.each(examples.filter(({ problem }) => problem.errors))(
  '$id $name has the detail that the service returns for its errors',
  ({ problem }) => {
    const { code, detail, errors = [] } = problem;
    expect(detail).toBe(new InvalidRequest(errors, code as 'validation_failed').message);
  },
);
