import { test } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    guarantee?: { number: number; title: string; measured?: string };
  }
}

/** Tests one guarantee, which becomes one row of the table. `run` injects the fault and returns what it measured. */
export function guarantee(number: number, title: string, run: () => Promise<string>, timeoutMs = 60_000) {
  test(`${number}. ${title}`, { timeout: timeoutMs }, async ({ task }) => {
    task.meta.guarantee = { number, title };
    task.meta.guarantee.measured = await run();
  });
}
