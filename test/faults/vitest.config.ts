import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import FaultTable from './table.ts';

export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: ['test/faults/**/*.test.ts'],
    globalSetup: 'test/support/global-setup.ts',
    reporters: ['default', new FaultTable()],
    hookTimeout: 60_000,
    // Some load the machine on purpose; more at once would measure each other.
    maxWorkers: 2,
  },
});
