import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// Runs the tests that can do more of the same, which takes too long for every change: `npm run test:faults:long`.
const files = ['concurrent-claims', 'database-outages', 'embedded-database', 'embedded-growth', 'sustained-load'];

export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: ['test/faults/**/*.long.test.ts', ...files.map((file) => `test/faults/${file}.test.ts`)],
    globalSetup: 'test/support/global-setup.ts',
    env: { LONG_TESTS: '1' },
    hookTimeout: 60_000,
    // Each test loads the machine.
    maxWorkers: 1,
  },
});
