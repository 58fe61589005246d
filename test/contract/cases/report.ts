// The verdict on a contract run. A run proves something only if every case of it has run: what is left out counts as failed.
import { type Case, titleOf } from './cases.ts';

export interface Outcome {
  testCase: Case;
  result: 'pass' | 'fail' | 'skip';
  /** Why the case failed. */
  reason: string;
}

const isOnPostgres = process.env.TEST_DATABASE_URL !== undefined;

/**
 * The only cases that may be left out, and only on the embedded database, which runs one transaction at a time: there, the
 * second request waits for the first one. On PostgreSQL, nothing may be left out.
 */
export function isImpossible({ responseExample }: Case): boolean {
  return !isOnPostgres && responseExample?.name === 'request_in_progress';
}

/** Prints the outcomes. The process exits with 1 unless every one of these cases has passed. */
export function report(runner: string, cases: Case[], outcomes: Outcome[]) {
  const errors = errorsOf(cases, outcomes);
  for (const error of errors) console.error(error);
  const leftOut = outcomes.filter(({ testCase, result }) => result === 'skip' && isImpossible(testCase));
  for (const { testCase } of leftOut)
    console.log(`${titleOf(testCase)} was left out, because only PostgreSQL can return it (.ci/with-postgres)`);
  const run = outcomes.filter(({ result }) => result !== 'skip').length;
  // .ci/contract turns this line into a row of its table.
  console.log(`${runner} on ${isOnPostgres ? 'PostgreSQL' : 'the embedded database'}: ${run} responses, ${errors.length} failed`);
  if (errors.length > 0) process.exitCode = 1;
}

export function errorsOf(cases: Case[], outcomes: Outcome[]): string[] {
  if (!outcomes.some(({ result }) => result === 'pass')) return ['No case has passed.'];
  const seen = new Set(outcomes.map(({ testCase }) => testCase));
  return [
    ...cases.filter((testCase) => !seen.has(testCase)).map((testCase) => `${titleOf(testCase)} has not run`),
    ...outcomes
      .filter(({ testCase, result }) => result === 'skip' && !isImpossible(testCase))
      .map(({ testCase }) => `${titleOf(testCase)} was skipped`),
    ...outcomes.filter(({ result }) => result === 'fail').map(({ testCase, reason }) => `${titleOf(testCase)}: ${reason}`),
  ];
}
