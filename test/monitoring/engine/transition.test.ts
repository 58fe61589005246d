import { expect, test } from 'vitest';
import { type CheckState, transition } from '../../../src/monitoring/engine/transition.ts';

const success = { up: true, responseTimeMs: 5 } as const;
const failure = { up: false, cause: 'HTTP 503', statusCode: 503 } as const;

/** Applies a series of results, "+" for success and "-" for failure. Returns the kinds of transition and the final status. */
function applyResults(results: string) {
  let state: CheckState = { status: 'pending', failures: 0 };
  const kinds: string[] = [];
  for (const result of results) {
    const next = transition(state, result === '+' ? success : failure);
    kinds.push(next.kind);
    state = next.state;
  }
  return [kinds.join(' '), state.status];
}

test.each([
  ['+', 'steady', 'up'],
  ['++', 'steady steady', 'up'],
  ['-', 'confirm', 'pending'],
  ['--', 'confirm confirm', 'pending'],
  ['---', 'confirm confirm opened', 'down'],
  ['-----', 'confirm confirm opened steady steady', 'down'],
  ['+--+', 'steady confirm confirm steady', 'up'],
  ['+---+', 'steady confirm confirm opened resolved', 'up'],
  ['+-+-+-+', 'steady confirm steady confirm steady confirm steady', 'up'],
  ['---+---+', 'confirm confirm opened resolved confirm confirm opened resolved', 'up'],
])('%s leads to %s, and the monitor is %s', (results, kinds, status) => {
  expect(applyResults(results)).toEqual([kinds, status]);
});
