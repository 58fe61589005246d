// What a check's result means for a monitor. Pure: no clock, no database.

export type CheckResult = { up: true; responseTimeMs: number } | { up: false; cause: string; statusCode: number | null };

export interface CheckState {
  status: 'pending' | 'up' | 'down';
  /** Checks that failed in a row since the last success. */
  failures: number;
}

export type Transition =
  /** Nothing to tell anybody. */
  | { kind: 'steady'; state: CheckState }
  /** A failing check that is confirmed soon, before anybody is told. */
  | { kind: 'confirm'; state: CheckState }
  /** Confirmed down: an incident opens, at the time of the first failing check. */
  | { kind: 'opened'; state: CheckState }
  /** Up again: the open incident, if there is one, is over. */
  | { kind: 'resolved'; state: CheckState };

/** A failing check and two more make a monitor go down; one success brings it up. */
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
