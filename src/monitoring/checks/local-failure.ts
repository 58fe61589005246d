import { NetworkError } from '../../net/network-error.ts';
import type { CheckResult, MissingReply } from '../checks/check.ts';

/** A check could not run because of this machine or its network. That says nothing about the monitor, so no result is recorded. */
export class LocalFailure extends Error {}

/**
 * Converts an error of the network to the result of a check. `hasReplied` is true if it came after a reply. Other errors are bugs
 * and are thrown again.
 */
export function classifyFailure(error: unknown, hasReplied = false): CheckResult | LocalFailure {
  if (!(error instanceof NetworkError)) throw error;
  if (error.kind === 'local') return new LocalFailure(error.message, { cause: error.cause });
  const reply = missingReply(error, hasReplied);
  return { up: false, cause: error.message, statusCode: null, ...(reply && { reply }) };
}

function missingReply({ kind, isReply }: NetworkError, hasReplied: boolean): MissingReply | undefined {
  if (kind === 'timeout' || (hasReplied && !isReply)) return 'earlier';
  if (kind === 'address_not_allowed' || kind === 'not_sent') return 'not_asked';
  return isReply ? undefined : 'none';
}
