import { matchesGlob } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import RunRecorder from './test/support/run-record.ts';

/** The slowest files start first, so that none of them runs alone at the end. */
const slowFiles = '**/test/{runtime/serve,cli/user,db/migrations,contract/every-operation}.test.ts';

class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const rank = ({ moduleId }: TestSpecification) => (matchesGlob(moduleId, slowFiles) ? 0 : 1);
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

/** Tests of the contract and its tools that take long: `npm run test:contract`. */
export const contractFiles = [
  'test/contract/{diff,injected-faults,lint-spec,mock-agrees,fuzz/*}.test.ts',
  'test/contract/{every-replay,every-update,problem-headers,rejection-order,size-limits}.test.ts',
];

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // These have their own commands, because they require more than npm or take long: test:abuse, test:faults, test:operations, test:browser.
    exclude: ['test/abuse/**', 'test/faults/**', 'test/operations/**', 'test/browser/**', ...contractFiles],
    // Many tests poll the service, and each poll takes time from it.
    expect: { poll: { interval: 200 } },
    sequence: { sequencer: SlowestFirst },
    reporters: ['default', new RunRecorder()],
    globalSetup: 'test/support/global-setup.ts',
    // Modules are loaded and compiled once per worker instead of once per file, which takes a third of the time. Test files
    // stay independent, because each has its own database.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Twice the number of cores, because many tests wait for timers.
    maxWorkers: 4,
  },
});
