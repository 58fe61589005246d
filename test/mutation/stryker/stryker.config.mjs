import { modules } from './modules.ts';

export default {
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  // Only the tests that import a module run for it.
  vitest: { configFile: 'test/mutation/stryker/vitest.config.ts', related: true },
  mutate: modules.map((module) => `src/${module}.ts`),
  // Stryker copies the project. What other commands write at the same time may disappear while it is copied.
  ignorePatterns: ['/dist', '/data', '/sitekeeper-*.tgz'],
  // Only what has changed since the last run is mutated again.
  incremental: true,
  incrementalFile: 'test/mutation/stryker/results.json',
  thresholds: { high: 95, low: 90, break: 90 },
  concurrency: 2,
  reporters: ['clear-text'],
  clearTextReporter: { allowColor: false, allowEmojis: false, reportTests: false, logTests: false },
  tempDirName: 'test-results/stryker',
  warnings: { slow: false },
};
