import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import RunRecorder from '../../support/run-record.ts';

// Runs the end-to-end tests of the two APIs again with Prism between the tests and the service.
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../../..'),
    include: [
      'test/{websites,accounts,auth,http}/*.test.ts',
      'test/monitoring/{monitors,providers,notifications,incidents}/*.test.ts',
      'test/db/idempotency.test.ts',
      'test/contract/prism-proxy/*.test.ts',
    ],
    exclude: [
      // These send no requests to the APIs.
      'test/websites/{domain,line-lists,website.list}.test.ts',
      'test/auth/secret-cipher.test.ts',
      'test/http/{server,metrics-endpoint}.test.ts',
      // This one measures seconds, and Prism makes every request slower.
      'test/auth/revocation.test.ts',
    ],
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
