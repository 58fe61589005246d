import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import RunRecorder from '../support/run-record.ts';

// Tests the docs and the mails in a real browser. They are not part of `npm test`, which requires only npm.
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: ['test/browser/*.browser.ts'],
    globalSetup: 'test/support/global-setup.ts',
    reporters: ['default', new RunRecorder()],
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
});
