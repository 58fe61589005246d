import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { GuaranteeTable } from '../support/guarantee-table.ts';
import RunRecorder from '../support/run-record.ts';
import { slowestFirst } from '../support/slowest-first.ts';

export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: ['test/abuse/**/*.test.ts'],
    globalSetup: 'test/support/global-setup.ts',
    reporters: ['default', new GuaranteeTable(19), new RunRecorder()],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    sequence: { sequencer: slowestFirst('message-caps', 'response-size', 'validation-cost', 'fair-checks') },
    // Most of the time the tests wait for checks and timeouts. With more files at a time they would distort the measurements.
    maxWorkers: 2,
  },
});
