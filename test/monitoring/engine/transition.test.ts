import { expect, test } from 'vitest';
import { type CheckState, transition } from '../../../src/monitoring/engine/transition.ts';

const success = { up: true, responseTimeMs: 5 } as const;
const failure = { up: false, cause: 'HTTP 503', statusCode: 503 } as const;

/** Applies a series of results, "+" for success and "-" for failure. Returns the kinds of transition and the final status. */
function applyResults(results: string, confirmations = 2) {
  let state: CheckState = { status: 'pending', failures: 0 };
  let isInMaintenance = false;
  const kinds: string[] = [];
  for (const result of results) {
    if (result === '[' || result === ']') {
      isInMaintenance = result === '[';
      if (isInMaintenance) state = { ...state, failures: 0 }; // As the request that starts it does.
      continue;
    }
    const next = transition(state, result === '+' ? success : failure, { confirmations, isInMaintenance });
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

test.each([
  [0, '-', 'opened', 'down'],
  [0, '+-+-', 'steady opened resolved opened', 'down'],
  [1, '--', 'confirm opened', 'down'],
  [5, '------', 'confirm confirm confirm confirm confirm opened', 'down'],
])('with %i confirmations, %s leads to %s, and the monitor is %s', (confirmations, results, kinds, status) => {
  expect(applyResults(results, confirmations)).toEqual([kinds, status]);
});

test.each([
  ['[---', 'confirm confirm steady', 'down'],
  ['[-----', 'confirm confirm steady steady steady', 'down'],
  ['[---]-', 'confirm confirm steady opened', 'down'],
  ['[---]---', 'confirm confirm steady opened steady steady', 'down'],
  ['[---]+', 'confirm confirm steady resolved', 'up'],
  ['[---+]---', 'confirm confirm steady resolved confirm confirm opened', 'down'],
  ['---[-]-', 'confirm confirm opened steady opened', 'down'],
  ['--[-]--', 'confirm confirm confirm confirm opened', 'down'],
])('with a maintenance in brackets, %s leads to %s, and the monitor is %s', (results, kinds, status) => {
  expect(applyResults(results)).toEqual([kinds, status]);
});
