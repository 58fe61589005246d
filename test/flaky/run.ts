// npm run test:flaky: runs the tests of `npm test` five times, files and tests in random order, and lists the tests whose results
// differed. To repeat one order: npm run test:flaky -- --seed 3
import { hash } from 'node:crypto';
import { parseArgs } from 'node:util';
import { BaseSequencer, type Reporter, startVitest, type TestModule, type TestSpecification } from 'vitest/node';

const { values, positionals } = parseArgs({
  options: { seed: { type: 'string' }, runs: { type: 'string', default: '5' } },
  allowPositionals: true,
});
const seeds = values.seed ? [Number(values.seed)] : Array.from({ length: Number(values.runs) }, (_, index) => index + 1);

/** Vitest itself shuffles the tests of a file, but files only without a sequencer, and vitest.config.ts has one. */
class RandomFiles extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const key = ({ moduleId }: TestSpecification) => hash('sha1', `${this.ctx.config.sequence.seed} ${moduleId}`);
    return files.toSorted((a, b) => key(a).localeCompare(key(b)));
  }
}

/** The result of each test in each run, by file and title. */
const results = new Map<string, string[]>();

for (const seed of seeds) {
  const start = performance.now();
  const collector: Reporter = {
    onTestRunEnd(modules: readonly TestModule[]) {
      for (const module of modules) {
        for (const test of module.children.allTests()) record(`${module.relativeModuleId} > ${test.fullName}`, test.result().state);
        // A file can fail without a failed test, for example in a hook.
        record(module.relativeModuleId, module.state() === 'failed' ? 'failed' : 'passed');
      }
    },
  };
  const sequence = { seed, shuffle: { files: true, tests: true }, sequencer: RandomFiles };
  const vitest = await startVitest('test', positionals, {
    run: true,
    watch: false,
    reporters: [['default', { summary: false }], collector],
    sequence,
  });
  for (const error of vitest.state.getUnhandledErrors()) record(`an error outside of every test: ${error}`, 'failed');
  await vitest.close();
  console.log(`Order ${seed}: ${Math.round((performance.now() - start) / 1000)} s`);
}

const different = [...results].filter(([, states]) => states.length < seeds.length || new Set(states).size > 1);
const failed = [...results].filter(([, states]) => states.every((state) => state === 'failed'));
for (const [name, states] of [...different, ...failed]) console.error(`${states.join(' ')}: ${name}`);
console.log(`${results.size} results in ${seeds.length} random orders: ${different.length} differed, ${failed.length} always failed.`);
process.exitCode = results.size > 0 && different.length + failed.length === 0 ? 0 : 1;

function record(name: string, state: string) {
  results.set(name, [...(results.get(name) ?? []), state]);
}
