import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { GuaranteeTable } from '../support/guarantee-table.ts';
import RunRecorder from '../support/run-record.ts';

export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: ['test/faults/**/*.test.ts'],
    globalSetup: 'test/support/global-setup.ts',
    reporters: ['default', new GuaranteeTable(23), new RunRecorder()],
    hookTimeout: 60_000,
    // Some tests load the machine on purpose. With more files at a time they would distort each other's measurements.
    maxWorkers: 2,
  },
});
