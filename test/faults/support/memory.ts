import { expect, vi } from 'vitest';
import type { RunningProcess } from '../../support/process.ts';

/**
 * NODE_OPTIONS of a process that reports its memory on SIGUSR2. It collects garbage first, and a second time because the
 * first collection releases only the objects that own buffers.
 */
export const reportMemoryOnSignal = `--expose-gc --import=data:text/javascript,${encodeURIComponent(
  `process.on('SIGUSR2', () => {
    gc();
    gc();
    const { heapUsed, external } = process.memoryUsage();
    console.log('memory ' + heapUsed + ' ' + external + ' ' + process.resourceUsage().maxRSS * 1024 + ';');
  });`,
)}`;

/** Returns megabytes: the heap, the buffers outside the heap, and the highest resident set size since the start. */
export async function memoryOf({ child, printed }: RunningProcess) {
  const reports = () => [...printed().matchAll(/^memory (\d+) (\d+) (\d+);$/gm)];
  const before = reports().length;
  child.kill('SIGUSR2');
  await vi.waitFor(() => expect(reports()).toHaveLength(before + 1), { timeout: 10_000 });
  const [, heap = 0, buffers = 0, peak = 0] = (reports().at(-1) ?? []).map((bytes) => Number(bytes) / 1e6);
  return { heap, buffers, peak };
}
