import type { Reporter, TestModule } from 'vitest/node';

const promised = 27;

/** Prints every promise with what was measured, and whether it held. */
export default class FaultTable implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]) {
    const tests = modules.flatMap((module) => [...module.children.allTests()]).filter((test) => test.result().state !== 'skipped');
    const lines = tests.flatMap((test) => {
      const { fault } = test.meta();
      return fault ? [{ ...fault, held: test.result().state === 'passed' }] : [];
    });
    console.log('\n| # | promise | figures | held |\n|---|---|---|---|');
    for (const { number, promise, figures = '', held } of lines.toSorted((a, b) => a.number - b.number)) {
      console.log(`| ${number} | ${promise} | ${figures} | ${held ? 'yes' : 'NO'} |`);
    }
    console.log(`\n${lines.filter(({ held }) => held).length} of ${promised} promises held.`);
    const isWhole = new Set(lines.map(({ number }) => number)).size === promised;
    if (!isWhole && process.env.CI) process.exitCode = 1;
  }
}
