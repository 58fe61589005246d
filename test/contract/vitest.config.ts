import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import base, { contractFiles } from '../../vitest.config.ts';
import { slowestFirst } from '../support/slowest-first.ts';

// Runs the tests of the contract and its tools that take too long for `npm test`.
export default defineConfig({
  test: {
    ...base.test,
    root: join(import.meta.dirname, '../..'),
    include: contractFiles,
    exclude: [],
    sequence: { sequencer: slowestFirst('mutated-requests') },
  },
});
