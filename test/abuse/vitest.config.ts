import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { GuaranteeTable } from '../support/guarantee-table.ts';

export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: ['test/abuse/**/*.test.ts'],
    globalSetup: 'test/support/global-setup.ts',
    reporters: ['default', new GuaranteeTable(19)],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // Some tests load the machine on purpose. Side by side they would distort each other's measurements.
    maxWorkers: 1,
  },
});
