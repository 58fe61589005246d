import { NetworkError } from '../../net/network-error.ts';
import type { CheckResult } from '../checks/check.ts';

/** A check failed because of this machine or its network. That says nothing about the monitor, so no result is recorded. */
export class LocalFailure extends Error {}

/** Decides whether an error is a failure of the monitor or of this machine. Other errors are bugs and are thrown again. */
export function classifyFailure(error: unknown): CheckResult | LocalFailure {
  if (!(error instanceof NetworkError)) throw error;
  if (error.kind === 'local') return new LocalFailure(error.message, { cause: error.cause });
  return { up: false, cause: error.kind === 'address_not_allowed' ? 'address_not_allowed' : error.message, statusCode: null };
}
