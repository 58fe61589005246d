import { totalmem } from 'node:os';

const megabyte = 1024 * 1024;
/** Measured: the first start and requests succeed with this limit. With 288 MB the kernel kills the process while it starts. */
const minimumMegabytes = 320;

/** Throws if the embedded database would not fit, because the kernel would kill the process without a message. */
export function assertEnoughMemory(): void {
  // The limit is 0 if it is unknown, and larger than the memory if there is none.
  const available = Math.floor(Math.min(process.constrainedMemory() || totalmem(), totalmem()) / megabyte);
  if (available >= minimumMegabytes) return;
  throw new Error(
    `The embedded database needs at least ${minimumMegabytes} MB of memory, but this process may use only ${available} MB. Raise the limit, or set DATABASE_URL to a PostgreSQL server.`,
  );
}
