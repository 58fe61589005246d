import { NetFault } from '../../net/net-fault.ts';
import type { CheckResult } from './transition.ts';

/** A check could not be made for a reason on our side. It says nothing about the monitor, so nothing is recorded. */
export class OurFault extends Error {}

/** What a fault on the way says about the monitor, if it does. */
export function blame(error: unknown): CheckResult | OurFault {
  if (!(error instanceof NetFault)) throw error;
  if (error.kind === 'our_side') return new OurFault(error.message);
  return { up: false, cause: error.kind === 'address_not_allowed' ? 'address_not_allowed' : error.message, statusCode: null };
}
