import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from '../../db/database.ts';
import { repeatAfterDeadlock } from '../../db/repeat-after-deadlock.ts';
import { RetryLaterError } from '../../errors.ts';
import { type Heartbeat, type Reception, recordHeartbeats } from './record-heartbeats.ts';

/** A heartbeat whose sender waits for the response. */
interface Waiting extends Heartbeat {
  settle: PromiseWithResolvers<Reception | undefined>;
}

const batchSize = 500;
const maxWaiting = 10_000;

/**
 * Records heartbeats. Those that arrive while others are being written are written together, in one transaction: a database can
 * commit much less often than heartbeats arrive.
 */
export class HeartbeatReceiver {
  readonly #database: Database;
  #waiting: Waiting[] = [];
  #isWriting = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Resolves once the heartbeat is stored, with undefined if no monitor has this token. */
  receive(heartbeat: Heartbeat): Promise<Reception | undefined> {
    if (this.#waiting.length >= maxWaiting) throw new RetryLaterError('unavailable', 'Too many heartbeats at once. Retry in 2 seconds.', 2);
    const settle = Promise.withResolvers<Reception | undefined>();
    this.#waiting.push({ ...heartbeat, settle });
    if (!this.#isWriting) void this.#writeWaiting();
    return settle.promise;
  }

  async #writeWaiting() {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      // The embedded database blocks the event loop while it writes. Without this turn, each heartbeat would be written alone.
      await nextTurn();
      const batch = this.#takeBatch();
      try {
        const receptions = await repeatAfterDeadlock(() => this.#database.engineTransaction((query) => recordHeartbeats(query, batch)));
        for (const { hash, settle } of batch) settle.resolve(receptions.get(hash));
      } catch (error) {
        for (const { settle } of batch) settle.reject(error);
      }
    }
    this.#isWriting = false;
  }

  /** Takes at most one heartbeat of each monitor, because one may follow from the other. */
  #takeBatch(): Waiting[] {
    const batch = new Map<string, Waiting>();
    const others: Waiting[] = [];
    for (const waiting of this.#waiting) {
      if (batch.size < batchSize && !batch.has(waiting.hash)) batch.set(waiting.hash, waiting);
      else others.push(waiting);
    }
    this.#waiting = others;
    return [...batch.values()];
  }
}
