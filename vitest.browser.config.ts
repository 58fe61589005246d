import { defineConfig } from 'vitest/config';

// The docs in a real browser. Apart from `npm test`, which needs nothing but npm.
export default defineConfig({
  test: {
    include: ['test/browser/*.browser.ts'],
    globalSetup: 'test/support/global-setup.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
