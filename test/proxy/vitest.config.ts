import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// The end-to-end tests once more, with Prism between them and the service.
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: ['test/{websites,monitoring,access,http}/*.test.ts'],
    exclude: [
      // Nothing of HTTP is in these.
      'test/websites/list-plan.test.ts',
      'test/access/{limiters,policies,cipher}.test.ts',
      'test/http/metrics.test.ts',
      // These count seconds, or requests in a minute, and Prism takes its time for each.
      'test/access/revocation.test.ts',
      'test/http/rate-limits.test.ts',
    ],
    env: { TEST_THROUGH_PROXY: '1' },
    globalSetup: 'test/support/global-setup.ts',
    setupFiles: 'test/proxy/leave-out.ts',
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 3,
  },
});
