import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// Runs what takes too long for every change: `npm run test:operations:long`.
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: ['test/operations/**/*.long.test.ts'],
    globalSetup: 'test/support/global-setup.ts',
    hookTimeout: 60_000,
    // Each test loads the machine.
    maxWorkers: 1,
  },
});
