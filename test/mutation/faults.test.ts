// A fault that does not apply any more is noticed at once, not in the next mutation run.
import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { describe, expect, test } from 'vitest';
import { type Fault, plant, testFilesOf } from './fault.ts';
import { faults } from './faults.ts';
import { digestOf } from './record.ts';
import { findProblems } from './report.ts';
import { controlError, judge } from './verdict.ts';

test.each([...Map.groupBy(faults, ({ file }) => file)])('every fault in %s applies, and its tests exist', (file, planted) => {
  const text = readFileSync(file, 'utf8');
  for (const fault of planted) {
    const faulty = plant(fault, text);
    expect(faulty).not.toBe(text);
    if (file.endsWith('.ts')) expect(() => stripTypeScriptTypes(faulty), fault.title).not.toThrow();
    expect((fault.tests === undefined) !== (fault.check === undefined), fault.title).toBe(true);
    for (const testFile of testFilesOf(fault)) expect(existsSync(testFile), testFile).toBe(true);
  }
});

test('every fault has a title of its own', () => {
  expect(faults.length).toBeGreaterThan(130);
  expect(new Set(faults.map(({ title }) => title)).size).toBe(faults.length);
});

const fault: Fault = { title: 'broken', file: 'a.ts', find: 'a', replace: 'b', tests: ['a.test.ts'] };

test.each(['', 'a a'])('a fault whose text is not in the file exactly once does not apply (%j)', (text) => {
  expect(() => plant(fault, text)).toThrow('does not apply');
});

describe('judge', () => {
  const passed = { passed: 3, failed: [], errors: [] };

  test('a fault is caught if a test fails, and survives if all pass', () => {
    const failed = [{ title: 'rejects it', message: 'AssertionError: expected 200 to be 403' }];
    expect(judge({ ...passed, failed })).toEqual({ kind: 'caught', by: 'rejects it' });
    expect(judge(passed)).toEqual({ kind: 'survived' });
  });

  test.each([
    ['no test has run', { passed: 0, failed: [], errors: [] }],
    ['a file cannot be loaded', { passed: 0, failed: [], errors: ['Failed to load src/x.ts'] }],
    ['a hook fails', { passed: 1, failed: [], errors: ['connect ECONNREFUSED'] }],
    [
      'the changed program is not a program',
      { passed: 1, failed: [{ title: 't', message: 'ReferenceError: x is not defined' }], errors: [] },
    ],
  ])('a run proves nothing if %s', (_, result) => expect(judge(result).kind).toBe('invalid'));

  test('the tests must pass without the fault', () => {
    expect(controlError(passed)).toBeUndefined();
    expect(controlError({ passed: 0, failed: [], errors: [] })).toBe('no test has run');
    expect(controlError({ ...passed, failed: [{ title: 't', message: 'm' }] })).toBe('t: m');
  });
});

describe('a run fails', () => {
  const listed = { ...fault, survives: 'It has no effect.' };

  test.each([
    ['if a fault survives without a reason', fault, { kind: 'survived' } as const],
    ['if a fault that is listed as a survivor is caught', listed, { kind: 'caught', by: 't' } as const],
    ['if a fault could not be judged', fault, { kind: 'invalid', reason: 'no test has run' } as const],
  ])('%s', (_, planted, verdict) => expect(findProblems([fault], new Map([[planted, verdict]]))).toHaveLength(1));

  test('if more than 5 % are listed as survivors', () => {
    const others = Array.from({ length: 19 }, () => fault);
    expect(findProblems([listed, ...others], new Map())).toEqual([]);
    expect(findProblems([listed, listed, ...others], new Map())).toHaveLength(1);
  });
});

test('the digest of a fault changes with the fault, its file and its tests', () => {
  const [first, second] = ['package.json', 'tsconfig.json'];
  const digests = [
    { ...fault, file: first, tests: [first] },
    { ...fault, file: second, tests: [first] },
    { ...fault, file: first, tests: [second] },
    { ...fault, file: first, tests: [first], replace: 'c' },
  ].map(digestOf);
  expect(new Set(digests).size).toBe(4);
});
