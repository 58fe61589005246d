import type { components } from '../../../generated/types/monitoring.ts';
import type { Ranges } from '../../net/addresses.ts';
import type { Pinger } from '../../net/ping.ts';
import type { Net } from '../../net/resolve.ts';
import type { LocalFailure } from './local-failure.ts';

/** The monitor types of the contract. */
export type MonitorType = NonNullable<components['schemas']['MonitorCreate']['type']>;

/** What a check needs to know about a monitor. */
export interface CheckTarget {
  url: string;
  /** The settings of the type, which the contract's schema has validated. */
  settings: Record<string, unknown>;
}

export type CheckResult =
  | { up: true; responseTimeMs: number }
  /** `responseTimeMs` is absent if there was no response. `reply` is absent if the check ended with a reply. */
  | { up: false; cause: string; statusCode: number | null; responseTimeMs?: number; reply?: MissingReply };

/**
 * What is known about the network if a check did not end with a reply. A refused connection is a reply.
 * - `none`: nothing came back.
 * - `earlier`: there was one, such as an accepted connection, and then nothing until the check timed out.
 * - `not_asked`: the target was not asked, because it must not be or this machine is not able to.
 */
export type MissingReply = 'none' | 'earlier' | 'not_asked';

/** The network as checks see it. */
export interface CheckDeps {
  net: Net;
  pinger: Pinger;
}

/** What is wrong with the `url` of a monitor. The message completes the sentence "url …". */
export interface TargetError {
  code: 'address_not_allowed' | 'invalid_target';
  message: string;
}

/** One monitor type. Each has a folder, which exports one of these. */
export interface MonitorCheck {
  /** Returns what is wrong with a target that the schema accepts, or undefined. `allowed` are ranges that are allowed although they are not public. */
  targetError(url: string, allowed: Ranges): TargetError | undefined;
  /** The host that the check connects to. The number of checks of a user that run at the same time on one host is limited. */
  hostOf(url: string): string;
  /** Returns a LocalFailure if the check failed because of this machine. Connections go only through net/. */
  run(target: CheckTarget, deps: CheckDeps): Promise<CheckResult | LocalFailure>;
}
