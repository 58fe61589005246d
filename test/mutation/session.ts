// Runs tests in the copy of the project that is its working directory, for run.ts. It is a process of its own that stays alive
// for many runs: starting Vitest and migrating a database for each of them would take most of the time.
import { readFileSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { resolve } from 'node:path';
import { createVitest, type TestCase } from 'vitest/node';
import { type Fault, plant } from './fault.ts';

/** `fault` is absent in a control run. */
export interface RunRequest {
  fault?: Fault;
  tests: readonly string[];
}

export interface RunResult {
  passed: number;
  /** The failed tests, with the message of their first error. */
  failed: { title: string; message: string }[];
  /** Errors outside of tests: a file that cannot be loaded, a hook that fails, a fault that does not apply. */
  errors: string[];
}

const [, , config = 'vitest.config.ts'] = process.argv;

const vitest = await createVitest('test', {
  config: resolve(config),
  watch: false,
  bail: 1,
  cache: false,
  // A worker that has loaded a faulty module must not run other tests.
  isolate: true,
  maxWorkers: 1,
  testTimeout: 30_000,
  hookTimeout: 30_000,
  reporters: [{}],
});
await vitest.standalone();

process.on('message', async (request: RunRequest) => {
  process.send?.(await run(request).catch((error: Error): RunResult => ({ passed: 0, failed: [], errors: [String(error)] })));
});
process.on('disconnect', () => process.exit());
process.send?.('ready');

async function run({ fault, tests }: RunRequest): Promise<RunResult> {
  if (!fault) return runTests(tests);
  const path = resolve(fault.file);
  const original = readFileSync(path, 'utf8');
  const faulty = plant(fault, original);
  if (path.endsWith('.ts')) stripTypeScriptTypes(faulty); // Throws if it is not valid.
  try {
    writeFileSync(path, faulty);
    vitest.invalidateFile(path);
    return await runTests(tests);
  } finally {
    writeFileSync(path, original);
    vitest.invalidateFile(path);
  }
}

async function runTests(tests: readonly string[]): Promise<RunResult> {
  const selections = tests.map((test) => test.split(' > ', 2));
  const titles = selections.map(([, title]) => title);
  if (titles.includes(undefined)) vitest.resetGlobalTestNamePattern();
  else vitest.setGlobalTestNamePattern(new RegExp(titles.map((title) => title?.replace(/[^\w ]/g, '\\$&')).join('|')));
  const files = selections.map(([file = '']) => resolve(file));
  const specifications = (await vitest.globTestSpecifications(files)).filter(({ moduleId }) => files.includes(moduleId));
  if (specifications.length < new Set(files).size) throw new Error(`There is no such test file: ${tests.join(', ')}`);
  const run = await vitest.runTestSpecifications(specifications);
  // The result also contains the modules of earlier runs.
  const testModules = run.testModules.filter(({ moduleId }) => files.includes(moduleId));
  const cases = testModules.flatMap((module) => [...module.children.allTests()]);
  const errors = testModules.flatMap((module) => [
    ...module.errors(),
    ...[...module.children.allSuites()].flatMap((suite) => suite.errors()),
  ]);
  return {
    passed: cases.filter((test) => test.result().state === 'passed').length,
    failed: cases.filter((test) => test.result().state === 'failed').map((test) => ({ title: test.fullName, message: messageOf(test) })),
    errors: [...errors, ...run.unhandledErrors].map((error) => String((error as Error).message)),
  };
}

function messageOf(test: TestCase): string {
  const [error] = test.result().errors ?? [];
  return `${error?.name}: ${error?.message}`;
}
