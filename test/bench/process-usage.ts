// What processes use, as Linux reports it in /proc.
import { readdirSync, readFileSync } from 'node:fs';

const ticksPerSecond = 100;

/** The CPU time of a process in seconds, user and system time of all its threads, and of all its children. */
export function cpuSecondsOf(pid: number): number {
  // The name of the process comes before, in parentheses, and can contain spaces.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').map(Number) ?? [];
  const [user = 0, system = 0, endedChildrenUser = 0, endedChildrenSystem = 0] = fields.slice(11, 15);
  const children = childrenOf(pid).map((child) => {
    try {
      return cpuSecondsOf(child);
    } catch {
      return 0; // It has ended in the meantime.
    }
  });
  return (user + system + endedChildrenUser + endedChildrenSystem) / ticksPerSecond + children.reduce((sum, seconds) => sum + seconds, 0);
}

export function memoryOf(pid: number): { megabytes: number; peakMegabytes: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (field: string) => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
  return { megabytes: megabytes('VmRSS'), peakMegabytes: megabytes('VmHWM') };
}

export function parentOf(pid: number): number {
  return Number(/PPid:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((candidate) => {
      try {
        return parentOf(candidate) === pid;
      } catch {
        return false; // It has ended.
      }
    });
}
