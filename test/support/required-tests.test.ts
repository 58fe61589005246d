import { describe, expect, test } from 'vitest';
import { problemsOf, required } from './required-tests.ts';

const nowMs = Date.UTC(2030, 0, 1);
const aheadMs = Date.UTC(2040, 0, 1);
const everyRequired = required.map(({ file, title }) => ({ file, title: `${title} (x)`, state: 'passed' as const }));
const now = { nowMs, files: required.map(({ file }) => file), isRoot: true };
const complete = [{ time: aheadMs, tests: everyRequired }];

test('a complete run has no problems', () => expect(problemsOf(complete, now)).toEqual([]));

describe('reports', () => {
  const skipped = { file: 'a.test.ts', title: 'needs Redis', state: 'skipped' as const };

  test('a test that was skipped in every run', () => {
    const runs = [...complete, { time: nowMs, tests: [skipped] }, { time: nowMs, tests: [skipped] }];
    expect(problemsOf(runs, now)).toEqual(['did not pass in any run: a.test.ts > needs Redis']);
  });

  test('no test that was skipped in one run and passed in another', () => {
    const runs = [...complete, { time: nowMs, tests: [skipped] }, { time: nowMs, tests: [{ ...skipped, state: 'passed' as const }] }];
    expect(problemsOf(runs, now)).toEqual([]);
  });

  test.each(required)('that the tests that need $needs are missing', ({ needs, file, title }) => {
    const others = everyRequired.filter((other) => !(other.file === file && other.title.startsWith(title)));
    const run = { time: aheadMs, tests: others };
    expect(problemsOf([run], now)).toContain(`did not run, needs ${needs}: ${file} > ${title}`);
  });

  test('a file of which no test has run', () => {
    expect(problemsOf(complete, { ...now, files: ['test/new.test.ts'] })).toEqual(['no test has run: test/new.test.ts']);
  });

  test('a test that needs root only if CI runs as root', () => {
    const mount = { file: 'test/operations/backup.test.ts', title: 'a mount point is rejected', state: 'skipped' as const };
    const runs = [...complete, { time: nowMs, tests: [mount] }];
    expect(problemsOf(runs, { ...now, isRoot: false })).toEqual([]);
    expect(problemsOf(runs, now)).toEqual(['did not pass in any run: test/operations/backup.test.ts > a mount point is rejected']);
  });

  test('that no test ran with another clock', () => {
    expect(problemsOf([{ time: nowMs, tests: everyRequired }], now)).toEqual([
      'no test ran with the clock ten years ahead, needs faketime',
    ]);
  });
});
