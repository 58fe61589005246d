import type { Reporter, TestModule, Vitest } from 'vitest/node';
import type { Guarantee } from './guarantee.ts';

/**
 * Prints every guarantee with what was promised and measured, and whether it held. In CI a run of all tests fails if one of them
 * was not tested.
 */
export class GuaranteeTable implements Reporter {
  readonly #count: number;
  #vitest: Vitest | undefined;

  /** The guarantees are numbered from 1 to `count`. */
  constructor(count: number) {
    this.#count = count;
  }

  onInit(vitest: Vitest) {
    this.#vitest = vitest;
  }

  async onTestRunEnd(modules: readonly TestModule[]) {
    const tests = modules.flatMap((module) => [...module.children.allTests()]).filter((test) => test.result().state !== 'skipped');
    const rows = tests
      .flatMap((test) => {
        const { guarantee } = test.meta();
        return guarantee ? [{ ...guarantee, held: test.result().state === 'passed' }] : [];
      })
      .toSorted((a, b) => a.number - b.number);
    console.log('\n| # | guarantee | promised | took | machine stall | measured | held |\n|---|---|---|---|---|---|---|');
    for (const row of rows)
      console.log(`| ${row.number} | ${row.title} | ${timesOf(row)} | ${row.measured ?? ''} | ${row.held ? 'yes' : 'NO'} |`);
    console.log(`\n${rows.filter(({ held }) => held).length} of ${this.#count} guarantees held.`);
    const isComplete = rows.length === this.#count && rows.every(({ number }, index) => number === index + 1);
    if (isComplete || !process.env.CI || !(await this.#hasRunAll(modules))) return;
    console.error(`The table is incomplete or has a number twice: it must have the guarantees 1 to ${this.#count}.`);
    process.exitCode = 1;
  }

  /** Whether neither files nor names of tests were chosen on the command line. */
  async #hasRunAll(modules: readonly TestModule[]): Promise<boolean> {
    const files = await this.#vitest?.globTestSpecifications();
    return modules.length === files?.length && !this.#vitest?.config.testNamePattern;
  }
}

function timesOf({ promisedSeconds, elapsed }: Guarantee): string {
  const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
  const promised = promisedSeconds.map((promise) => `within ${promise} s`);
  return [promised, elapsed.map(({ ms }) => seconds(ms)), elapsed.map(({ stallMs }) => seconds(stallMs))]
    .map((times) => times.join(', '))
    .join(' | ');
}
