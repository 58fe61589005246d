import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// The end-to-end tests once more, with Prism between them and the service.
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../../..'),
    include: ['test/{websites,monitoring,accounts,auth,limits,http}/**/*.test.ts', 'test/db/idempotency.test.ts'],
    exclude: [
      // Nothing of HTTP is in these.
      'test/websites/list-plan.test.ts',
      'test/{limits/limiters,db/policies,auth/secret-cipher}.test.ts',
      'test/http/metrics-endpoint.test.ts',
      // These count seconds, or requests in a minute, and Prism takes its time for each.
      'test/auth/revocation.test.ts',
      'test/limits/rate-limits.test.ts',
    ],
    env: { TEST_THROUGH_PROXY: '1' },
    globalSetup: 'test/support/global-setup.ts',
    setupFiles: 'test/contract/prism-proxy/excluded-tests.ts',
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 3,
  },
});
