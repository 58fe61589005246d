import { expect, vi } from 'vitest';
import type { Running } from '../../support/process.ts';

/** NODE_OPTIONS of a process that collects garbage when it is told to (a second time for buffers), and prints what is left. */
export const tellMemoryOnSignal = `--expose-gc --import=data:text/javascript,${encodeURIComponent(
  `process.on('SIGUSR2', () => {
    gc();
    gc();
    const { heapUsed, external } = process.memoryUsage();
    console.log('memory ' + heapUsed + ' ' + external + ' ' + process.resourceUsage().maxRSS * 1024 + ';');
  });`,
)}`;

/** In megabytes: objects, buffers beside them, and the most that the process has ever had for everything. */
export async function memoryOf({ child, printed }: Running) {
  const told = () => [...printed().matchAll(/^memory (\d+) (\d+) (\d+);$/gm)];
  const before = told().length;
  child.kill('SIGUSR2');
  await vi.waitFor(() => expect(told()).toHaveLength(before + 1), { timeout: 10_000 });
  const [, heap = 0, buffers = 0, peak = 0] = (told().at(-1) ?? []).map((bytes) => Number(bytes) / 1e6);
  return { heap, buffers, peak };
}
