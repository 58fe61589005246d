import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { GuaranteeTable } from '../support/guarantee-table.ts';
import RunRecorder from '../support/run-record.ts';
import { slowestFirst } from '../support/slowest-first.ts';

export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: ['test/faults/**/*.test.ts'],
    exclude: ['test/faults/**/*.long.test.ts'],
    globalSetup: 'test/support/global-setup.ts',
    reporters: ['default', new GuaranteeTable(25), new RunRecorder()],
    hookTimeout: 60_000,
    sequence: {
      sequencer: slowestFirst(
        'embedded-growth',
        'embedded-database',
        'killed-processes',
        'database-outages',
        'outage-logs',
        'sustained-load',
        'webhook-chaos',
      ),
    },
    // Some tests load the machine on purpose. With more files at a time they would distort each other's measurements.
    maxWorkers: 2,
  },
});
