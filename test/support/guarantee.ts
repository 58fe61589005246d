import { test } from 'vitest';
import { type Elapsed, expectWithin } from './stall.ts';

/** One row of the table. */
export interface Guarantee {
  number: number;
  title: string;
  /** The times that the title promises. */
  promisedSeconds: number[];
  /** How long each of them took. */
  elapsed: Elapsed[];
  measured?: string;
}

declare module 'vitest' {
  interface TaskMeta {
    guarantee?: Guarantee;
  }
}

/** What a test has measured. For each "within 5 s" in the title, in this order, `elapsed` has the time that it took. */
type Measurement = string | { elapsed: Elapsed[]; measured: string };

/** Tests one guarantee, which becomes one row of the table. `run` injects the fault and returns what it measured. */
export function guarantee(number: number, title: string, run: () => Promise<Measurement>, timeoutMs = 60_000) {
  const promisedSeconds = [...title.matchAll(/\bwithin (\d+) s\b/g)].map(([, seconds]) => Number(seconds));
  if (/\bwithin (?!\d+ s\b)/.test(title))
    throw new Error(`"${title}" promises a time in other units than whole seconds, such as "within 5 s".`);
  test(`${number}. ${title}`, { timeout: timeoutMs }, async ({ task }) => {
    const row: Guarantee = { number, title, promisedSeconds, elapsed: [] };
    task.meta.guarantee = row;
    const result = await run();
    Object.assign(row, typeof result === 'string' ? { measured: result } : result);
    if (row.elapsed.length !== promisedSeconds.length) throw new Error('A test measures the times that its title promises, and no others.');
    for (const [index, elapsed] of row.elapsed.entries()) expectWithin(promisedSeconds[index] ?? 0, elapsed);
  });
}
