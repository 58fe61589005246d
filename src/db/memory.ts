import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { dirname, join } from 'node:path';

const megabyte = 1024 * 1024;
/** Measured: the first start and requests succeed with this limit. With 288 MB the kernel kills the process while it starts. */
const minimumMegabytes = 320;

/** Throws if the embedded database would not fit, because the kernel would kill the process without a message. */
export function assertEnoughMemory(): void {
  // The first limit is 0 if it is unknown. Both are larger than the memory if there is none.
  const available = Math.floor(Math.min(process.constrainedMemory() || Infinity, groupLimit(), totalmem()) / megabyte);
  if (available >= minimumMegabytes) return;
  throw new Error(
    `The embedded database needs at least ${minimumMegabytes} MB of memory, but this process may use only ${available} MB. Raise the limit, or set DATABASE_URL to a PostgreSQL server.`,
  );
}

/** The smallest limit of the control groups above this process. Node reads only the one that the process is in. */
function groupLimit(): number {
  // A line is `4:memory:/a/b` in version 1 of control groups, and `0::/a/b` in version 2.
  const lines = readIfExists('/proc/self/cgroup').split('\n');
  return Math.min(
    ...lines.flatMap((line) => {
      const [, controllers, path = ''] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
      if (controllers === '') return limitsAbove('/sys/fs/cgroup', path, 'memory.max');
      return controllers?.split(',').includes('memory') ? limitsAbove('/sys/fs/cgroup/memory', path, 'memory.limit_in_bytes') : [];
    }),
  );
}

/** In a container, the path may be that of the host. Then only the root exists, which is the group of the container. */
function limitsAbove(root: string, path: string, file: string): number[] {
  const limit = Number.parseInt(readIfExists(join(root, path, file)), 10); // NaN for "max", and if there is no such file.
  return [Number.isNaN(limit) ? Infinity : limit, ...(dirname(path) === path ? [] : limitsAbove(root, dirname(path), file))];
}

function readIfExists(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
