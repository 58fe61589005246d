import { readFileSync, writeFileSync } from 'node:fs';
import { expect, vi } from 'vitest';
import type { RunningProcess } from '../../support/process.ts';

/**
 * NODE_OPTIONS of a process that reports, on SIGUSR2, how much time its main thread has used since the last report. No block
 * of the event loop can be longer, and unlike the length of a block it does not depend on what else the machine does.
 */
export const reportBlocksOnSignal = `--import=data:text/javascript,${encodeURIComponent(
  `let last = process.threadCpuUsage();
  process.on('SIGUSR2', () => {
    const { user, system } = process.threadCpuUsage(last);
    last = process.threadCpuUsage();
    console.log('blocked ' + (user + system) / 1000 + ';');
  });`,
)}`;

/** Returns the time that the main thread has used since the last call, in milliseconds. */
export async function longestBlock({ child, printed }: RunningProcess): Promise<number> {
  const reports = () => [...printed().matchAll(/^blocked ([\d.]+);$/gm)];
  const before = reports().length;
  child.kill('SIGUSR2');
  await vi.waitFor(() => expect(reports()).toHaveLength(before + 1), { timeout: 10_000, interval: 2 });
  return Number(reports().at(-1)?.[1]);
}

/** Compiling the embedded database takes more memory at the start than serving does later. */
export function resetPeakMemory({ child }: RunningProcess) {
  writeFileSync(`/proc/${child.pid}/clear_refs`, '5');
}

/** Returns the highest resident memory of a process since its start or the last reset, in megabytes. */
export function peakMemory({ child }: RunningProcess): number {
  const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1000;
}
