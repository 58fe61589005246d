import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import RunRecorder from '../support/run-record.ts';
import { slowestFirst } from '../support/slowest-first.ts';

export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: ['test/operations/**/*.test.ts'],
    exclude: ['test/operations/**/*.long.test.ts'],
    globalSetup: 'test/support/global-setup.ts',
    reporters: ['default', new RunRecorder()],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    sequence: { sequencer: slowestFirst('rolling-restart', 'failover', 'backup', 'move', 'cluster', 'many-processes', 'stopped-checks') },
    // Each file starts several processes.
    maxWorkers: 2,
  },
});
