import { matchesGlob } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** These take longest, and begin first: else one of them would run on alone at the end. */
const long =
  '**/test/{runtime/serve,cli/commands,monitoring/engine/{local-failures,outage},monitoring/alerts/dispatcher,contract/{fuzz,mock-agrees,planted-faults}}.test.ts';

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const rank = ({ moduleId }: TestSpecification) => (matchesGlob(moduleId, long) ? 0 : 1);
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // These have commands of their own, because they need more than npm: test:faults, test:operations,
    // test:browser.
    exclude: ['test/faults/**', 'test/operations/**', 'test/browser/**'],
    // Many poll the service itself, which costs it time.
    expect: { poll: { interval: 200 } },
    sequence: { sequencer: LongestFirst },
    globalSetup: 'test/support/global-setup.ts',
    // Modules are loaded and compiled once a worker, not once a file: a third of the time. Each file has its own database.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Twice as many as there are cores, because many tests wait for the clock.
    maxWorkers: 4,
  },
});
