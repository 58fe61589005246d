import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // These have commands of their own, because they need more than npm: test:faults, test:operations,
    // test:browser.
    exclude: ['test/faults/**', 'test/operations/**', 'test/browser/**'],
    globalSetup: 'test/support/global-setup.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // One more than there are cores, because many tests wait for the clock.
    maxWorkers: 3,
  },
});
