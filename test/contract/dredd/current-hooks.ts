import type { Transaction } from 'dredd';

export interface Hooks {
  /** Makes the transaction's request the one that brings its case about. */
  before(transaction: Transaction): Promise<void>;
  /** Throws where the answer is not what the contract says. */
  validate(transaction: Transaction): Promise<void>;
}

let hooks: Hooks | undefined;

/** Dredd loads the hook file by itself, and tells it nothing about who runs it. */
export function setHooks(current: Hooks) {
  hooks = current;
}

/** As Dredd calls hooks: what goes wrong makes the transaction fail. */
export function callHook(name: keyof Hooks, transaction: Transaction, done: () => void) {
  const work = hooks ? hooks[name](transaction) : Promise.reject(new Error('No run is under way.'));
  work
    .catch((error: Error) => {
      transaction.fail = error.message;
    })
    .then(done);
}
