// Everything that the contract declares must be a case, and a run in which a case is missing must fail.
import { execFile } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { bundles } from '../support/contract-operations.ts';
import { dereference } from '../support/dereference.ts';
import { type Case, cases, casesBeyondDredd, casesOfDredd, titleOf } from './cases/cases.ts';
import { errorsOf, type Outcome } from './cases/report.ts';

interface Content {
  content?: Record<string, { examples?: object }>;
}

interface Definition {
  operationId: string;
  requestBody?: Content;
  responses: Record<string, Content>;
}

const namesOf = ({ content = {} }: Content = {}) => Object.values(content).flatMap(({ examples = {} }) => Object.keys(examples));

describe.each(['websites', 'monitoring'] as const)('the %s contract', (api) => {
  // This reads the bundle itself, so that what cases.ts overlooks is detected.
  const { paths } = dereference(bundles[api]) as { paths: Record<string, Record<string, Definition>> };
  const operations = Object.values(paths).flatMap((item) => Object.values(item).filter((value) => 'responses' in value));

  test.each(operations)('every status and every named example of $operationId is a case', ({ operationId, requestBody, responses }) => {
    const own = cases.filter(({ operation }) => operation.id === operationId);
    const declared = Object.entries(responses).flatMap(([status, response]) => {
      const names = namesOf(response);
      return names.length > 0 ? names.map((name) => `${status} ${name}`) : [`${status} undefined`];
    });
    const covered = new Set(own.map(({ status, responseExample }) => `${status} ${responseExample?.name}`));
    expect(declared.filter((one) => !covered.has(one))).toEqual([]);
    const sent = new Set(own.map(({ requestExample }) => requestExample));
    expect(namesOf(requestBody).filter((name) => !sent.has(name))).toEqual([]);
  });
});

test('every case is run by Dredd or by our own runner, and none by both', () => {
  expect([...casesOfDredd, ...casesBeyondDredd].map(titleOf).sort()).toEqual(cases.map(titleOf).sort());
});

const outcomes = (result: Outcome['result']) => casesOfDredd.map((testCase): Outcome => ({ testCase, result, reason: 'wrong' }));

test('a run fails if a case failed, was skipped or is missing', () => {
  const [first, ...others] = outcomes('pass') as [Outcome, ...Outcome[]];
  const title = titleOf(first.testCase);
  expect(errorsOf(casesOfDredd, [first, ...others])).toEqual([]);
  expect(errorsOf(casesOfDredd, [{ ...first, result: 'fail' }, ...others])).toEqual([`${title}: wrong`]);
  expect(errorsOf(casesOfDredd, [{ ...first, result: 'skip' }, ...others])).toEqual([`${title} was skipped`]);
  expect(errorsOf(casesOfDredd, others)).toEqual([`${title} has not run`]);
});

test('only a request in progress may be skipped, and only on the embedded database', () => {
  const inProgress = ({ responseExample }: Case) => responseExample?.name === 'request_in_progress';
  const skipped = outcomes('pass').map((outcome): Outcome => (inProgress(outcome.testCase) ? { ...outcome, result: 'skip' } : outcome));
  const expected = process.env.TEST_DATABASE_URL
    ? casesOfDredd.filter(inProgress).map((testCase) => `${titleOf(testCase)} was skipped`)
    : [];
  expect(errorsOf(casesOfDredd, skipped)).toEqual(expected);
});

test.each([
  ['no transaction', '[]', 1],
  ['every transaction skipped', "casesOfDredd.map((testCase) => ({ testCase, result: 'skip', reason: '' }))", 1],
  ['every transaction passed', "casesOfDredd.map((testCase) => ({ testCase, result: 'pass', reason: '' }))", 0],
])('a run with %s exits with the right status', async (_, outcomesOfRun, status) => {
  const script = `import { casesOfDredd } from './test/contract/cases/cases.ts';
    import { report } from './test/contract/cases/report.ts';
    report('Dredd', casesOfDredd, ${outcomesOfRun});`;
  const exited = new Promise((resolve) => {
    const child = execFile('node', ['--no-warnings', '--input-type=module', '--eval', script], () => resolve(child.exitCode));
  });
  expect(await exited).toBe(status);
});
