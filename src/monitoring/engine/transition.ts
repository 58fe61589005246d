// Decides what the result of a check means for a monitor. Pure: no clock, no database.
import type { CheckResult } from '../checks/check.ts';

export interface CheckState {
  status: 'pending' | 'up' | 'down';
  /** The number of consecutive failures. */
  failures: number;
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

/** Three consecutive failures make a monitor go down. One success brings it up. */
export const failuresToGoDown = 3;

export function transition(state: CheckState, result: CheckResult): Transition {
  if (result.up) {
    return { kind: state.status === 'down' ? 'resolved' : 'steady', state: { status: 'up', failures: 0 } };
  }
  if (state.status === 'down') return { kind: 'steady', state };
  const failures = state.failures + 1;
  if (failures < failuresToGoDown) return { kind: 'confirm', state: { ...state, failures } };
  return { kind: 'opened', state: { status: 'down', failures } };
}
