// Decides what the result of a check means for a monitor. Pure: no clock, no database.
import type { CheckResult } from '../checks/check.ts';

export interface CheckState {
  status: 'pending' | 'up' | 'down';
  /** The number of consecutive failures. A monitor that is down without failures has no incident, because it is or was in maintenance. */
  failures: number;
}

/** What else decides, besides the result. */
export interface TransitionRules {
  /** How many more failures must follow the first one before the monitor goes down. */
  confirmations: number;
  isInMaintenance: boolean;
}

export type Transition =
  /** The status stays the same or becomes up for the first time. */
  | { kind: 'steady'; state: CheckState }
  /** A failure that further checks must confirm before anybody is alerted. */
  | { kind: 'confirm'; state: CheckState }
  /** Confirmed down: an incident opens. It starts at the first failure. */
  | { kind: 'opened'; state: CheckState }
  /** Up again: the open incident, if there is one, is resolved. */
  | { kind: 'resolved'; state: CheckState };

/** Confirmed failures make a monitor go down. One success brings it up. No incident opens during a maintenance. */
export function transition(state: CheckState, result: CheckResult, { confirmations, isInMaintenance }: TransitionRules): Transition {
  if (result.up) {
    return { kind: state.status === 'down' ? 'resolved' : 'steady', state: { status: 'up', failures: 0 } };
  }
  if (state.status === 'down' && (state.failures > 0 || isInMaintenance)) return { kind: 'steady', state };
  const failures = state.failures + 1;
  if (state.status !== 'down' && failures <= confirmations) return { kind: 'confirm', state: { ...state, failures } };
  if (isInMaintenance) return { kind: 'steady', state: { status: 'down', failures: 0 } };
  return { kind: 'opened', state: { status: 'down', failures } };
}
