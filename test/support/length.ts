/**
 * Returns how much of something a test does. Every change gets the short form, which tests the same mechanism. The commands
 * test:faults:long and test:abuse:long set LONG_TESTS.
 */
export function lengthOf({ short, long }: { short: number; long: number }): number {
  return process.env.LONG_TESTS ? long : short;
}
