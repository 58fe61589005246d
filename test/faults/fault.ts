import { test } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    fault?: { number: number; promise: string; figures?: string };
  }
}

/** One line of the table: what is promised on a bad day, and a run that proves it and returns what it measured. */
export function fault(number: number, promise: string, run: () => Promise<string>, timeoutMs = 60_000) {
  test(`${number}. ${promise}`, { timeout: timeoutMs }, async ({ task }) => {
    task.meta.fault = { number, promise };
    task.meta.fault.figures = await run();
  });
}
