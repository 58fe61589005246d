import type { Transaction } from 'dredd';

export interface Hooks {
  /** Adds to the request what causes the response of its case. */
  before(transaction: Transaction): Promise<void>;
  /** Rejects if the response violates the contract. */
  validate(transaction: Transaction): Promise<void>;
}

let hooks: Hooks | undefined;

/** Dredd loads the hook file itself and passes it no context, so the hooks of the current run are stored here. */
export function setHooks(current: Hooks) {
  hooks = current;
}

/** Adapts a hook to the callback that Dredd expects. An error makes the transaction fail. */
export function callHook(name: keyof Hooks, transaction: Transaction, done: () => void) {
  const result = hooks ? hooks[name](transaction) : Promise.reject(new Error('setHooks has not been called.'));
  result
    .catch((error: Error) => {
      transaction.fail = error.message;
    })
    .then(done);
}
