import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// The end-to-end tests once more, with Prism between them and the service.
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: ['test/{websites,monitoring,access,http}/*.test.ts'],
    // Nothing of HTTP is in these.
    exclude: ['test/websites/list-plan.test.ts', 'test/access/{limiters,policies,vault}.test.ts', 'test/http/metrics.test.ts'],
    env: { TEST_THROUGH_PROXY: '1' },
    globalSetup: 'test/support/global-setup.ts',
    setupFiles: 'test/proxy/leave-out.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 3,
  },
});
