import type { components } from '../../../generated/types/monitoring.ts';
import type { SecretCipher } from '../../auth/secret-cipher.ts';
import type { ValidationError } from '../../errors.ts';
import type { Ranges } from '../../net/addresses.ts';
import type { Pinger } from '../../net/ping.ts';
import type { Net } from '../../net/resolve.ts';
import type { LocalFailure } from './local-failure.ts';

/** The monitor types of the contract. */
export type MonitorType = NonNullable<components['schemas']['MonitorCreate']['type']>;

/** The options of a type as they are stored: those that differ from their defaults. */
export type StoredOptions = Record<string, unknown>;

/** What a check needs to know about a monitor. */
export interface CheckTarget {
  id: number;
  userId: number;
  url: string;
  settings: StoredOptions;
  intervalSeconds: number;
  timeoutSeconds: number;
  /** Why the monitor is down. Null if it is not. */
  downBecause: string | null;
}

export type CheckResult = { responseTimeMs?: number; certificate?: SeenCertificate } & (
  | { up: true }
  /** `responseTimeMs` is absent if there was no response. `reply` is absent if the check ended with a reply. */
  | { up: false; cause: string; statusCode: number | null; reply?: MissingReply }
);

/** The certificate of the target. */
export interface SeenCertificate {
  expiresAt: Date;
  /** How many days before a warning is sent. Null means that there are no warnings. */
  warningDays: number | null;
}

/**
 * What is known about the network if a check did not end with a reply. A refused connection is a reply.
 * - `none`: nothing came back.
 * - `earlier`: there was one, such as an accepted connection, and then nothing until the check timed out.
 * - `not_asked`: the target was not asked, because it must not be or this machine is not able to.
 */
export type MissingReply = 'none' | 'earlier' | 'not_asked';

/** What checks need: the network, and the key to the secrets in their options. */
export interface CheckDeps {
  net: Net;
  pinger: Pinger;
  cipher: SecretCipher;
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
  /** Absent if the type has no options. */
  options?: CheckOptions;
  /** Says what a check does, in one sentence without secrets. */
  describe(target: Omit<CheckTarget, 'id' | 'userId' | 'downBecause'>): string;
  /** Only for types that wait for results instead of asking a target. They have no `url`, and need no confirmation. */
  passive?: PassiveCheck;
  /** Returns a LocalFailure if the check failed because of this machine. Connections go only through net/. */
  run(target: CheckTarget, deps: CheckDeps): Promise<CheckResult | LocalFailure>;
}

/** How a monitor receives results. */
export interface PassiveCheck {
  /** How much longer than its interval a monitor waits. */
  graceSeconds(settings: StoredOptions): number;
  /** The path at which it receives results. It contains a secret. */
  receivingPath(monitor: Pick<CheckTarget, 'id' | 'userId' | 'settings'>, cipher: SecretCipher): string;
}

/** Options as clients send them, in the object of the contract that has the name of the type. The schema has validated them. */
export type SentOptions = Record<string, unknown>;

/** The options of one monitor type. */
export interface CheckOptions {
  /** Returns what a schema cannot express about options, each with a pointer that begins within the options. */
  errors(sent: SentOptions): ValidationError[];
  /** Options that do not affect the result of a check. A change of them keeps the status of the monitor, and its open incident. */
  keepStatus: readonly string[];
  /** Returns the options to store, after options were sent. Throws InvalidRequest if they do not fit the stored ones. */
  merge(sent: SentOptions, change: OptionsChange): StoredOptions;
  /** Returns all options as the API shows them: with defaults, and without secrets. */
  view(stored: StoredOptions): object;
  /** Options that lists leave out, because they can be long. For a list they are not even read. */
  unlisted: readonly string[];
}

/** What a change of options depends on. */
export interface OptionsChange {
  monitor: Pick<CheckTarget, 'id' | 'userId'>;
  /** The options of the monitor before the change. */
  stored: StoredOptions;
  /** Whether the check still connects to the same origin. Otherwise stored secrets must not be kept. */
  isSameOrigin: boolean;
  cipher: SecretCipher;
}
