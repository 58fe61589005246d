import { defineConfig } from 'vitest/config';
import { modules } from './modules.ts';

export default defineConfig({
  test: { include: modules.map((module) => `test/${module}.test.ts`), isolate: false },
});
