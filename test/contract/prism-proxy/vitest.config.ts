import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import RunRecorder from '../../support/run-record.ts';

// Runs the tests of every operation, and those of websites, again with Prism between the tests and the service.
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../../..'),
    include: ['test/contract/{every-operation,prism-proxy/*}.test.ts', 'test/websites/*.test.ts'],
    // These send no requests to the APIs.
    exclude: ['test/websites/{domain,line-lists,website.list}.test.ts'],
    env: { TEST_THROUGH_PROXY: '1' },
    globalSetup: 'test/support/global-setup.ts',
    reporters: ['default', new RunRecorder()],
    setupFiles: 'test/contract/prism-proxy/excluded-tests.ts',
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 3,
  },
});
