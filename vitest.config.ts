import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // These have commands of their own, because they need more than npm: test:faults, test:operations,
    // test:browser.
    exclude: ['test/faults/**', 'test/operations/**', 'test/browser/**'],
    // Many poll the service itself, which costs it time.
    expect: { poll: { interval: 200 } },
    globalSetup: 'test/support/global-setup.ts',
    // Modules are loaded and compiled once a worker, not once a file: a third of the time. Each file has its own database.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Twice as many as there are cores, because many tests wait for the clock.
    maxWorkers: 4,
  },
});
