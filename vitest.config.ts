import { defineConfig } from 'vitest/config';
import RunRecorder from './test/support/run-record.ts';
import { slowestFirst } from './test/support/slowest-first.ts';

/** Tests of the contract and its tools that take long: `npm run test:contract`. */
export const contractFiles = [
  'test/contract/{diff,injected-faults,lint-spec,mock-agrees,fuzz/*}.test.ts',
  'test/contract/{every-operation,every-replay,every-update,problem-headers,rejection-order,size-limits}.test.ts',
  'test/contract/client/{collection,mock}.test.ts',
  'test/mock/reload.test.ts',
];

/** Tests that take long and use no database or their own embedded one. A run on a database server would only repeat them. */
const withoutServer = [
  'test/cli/{key,main,user}.test.ts',
  'test/db/transaction-ids.test.ts',
  'test/lint/*.test.ts',
  'test/mock/mock.test.ts',
  'test/runtime/{open-database,serve,shutdown}.test.ts',
];

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // These have their own commands, because they require more than npm or take long: test:abuse, test:faults, test:operations, test:browser.
    exclude: [
      'test/abuse/**',
      'test/faults/**',
      'test/operations/**',
      'test/browser/**',
      ...contractFiles,
      ...(process.env.TEST_DATABASE_URL ? withoutServer : []),
    ],
    // Many tests poll the service, and each poll takes time from it.
    expect: { poll: { interval: 200 } },
    sequence: {
      sequencer: slowestFirst('serve-postgres', 'serve', 'user', 'killed-worker', 'local-failures', 'migrations'),
    },
    reporters: ['default', new RunRecorder()],
    globalSetup: 'test/support/global-setup.ts',
    // Modules are loaded and compiled once per worker instead of once per file, which takes a third of the time. Test files
    // stay independent, because each has its own database.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // CI has two cores, and many tests wait for timers.
    maxWorkers: 4,
  },
});
