import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// The docs in a real browser. Apart from `npm test`, which needs nothing but npm.
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: ['test/browser/*.browser.ts'],
    globalSetup: 'test/support/global-setup.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
