import type { RunResult } from './session.ts';

export type Verdict =
  | { kind: 'caught'; by: string }
  | { kind: 'survived' }
  /** The run proves nothing. */
  | { kind: 'invalid'; reason: string };

/** These errors tell that the fault is not a working program. They would be found without any test. Parsing JSON is work of a test. */
const brokenProgram = /^(SyntaxError: (?!.*JSON)|ReferenceError: )|Cannot find (module|package)|Failed to (load|resolve)/;

/** Judges a run with a fault. It is caught only if a test has run and failed. */
export function judge({ passed, failed, errors }: RunResult): Verdict {
  const [caught] = failed.filter(({ message }) => !brokenProgram.test(message));
  if (caught) return { kind: 'caught', by: caught.title };
  const [reason = failed[0]?.message ?? (passed === 0 ? 'no test has run' : undefined)] = errors;
  return reason === undefined ? { kind: 'survived' } : { kind: 'invalid', reason };
}

/** Returns why tests cannot judge a fault: they must have run, and passed, without it. */
export function controlError({ passed, failed, errors }: RunResult): string | undefined {
  const [reason = failed[0] && `${failed[0].title}: ${failed[0].message}`] = errors;
  return reason ?? (passed === 0 ? 'no test has run' : undefined);
}
