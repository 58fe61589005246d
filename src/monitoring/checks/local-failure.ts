import { NetworkError } from '../../net/network-error.ts';
import type { CheckResult } from '../checks/check.ts';

/** A check could not run because of this machine or its network. That says nothing about the monitor, so no result is recorded. */
export class LocalFailure extends Error {}

/**
 * Converts an error of the network to the result of a check. `hasReplied` is true if it came after a reply. Other errors are bugs
 * and are thrown again.
 */
export function classifyFailure(error: unknown, hasReplied = false): CheckResult | LocalFailure {
  if (!(error instanceof NetworkError)) throw error;
  if (error.kind === 'local') return new LocalFailure(error.message, { cause: error.cause });
  const noReply = !hasReplied && !error.isReply;
  return { up: false, cause: error.message, statusCode: null, ...(noReply && { noReply }) };
}
