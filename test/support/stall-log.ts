/** How long the control sleeps. */
export const periodNs = 10_000_000n;
/** Timers of an idle machine are late by less than this. */
const toleranceNs = 1_000_000n;
/** Enough for ten minutes in which every sleep is too long. Older stalls are overwritten. */
const capacity = 2 ** 16;
const [lastBeat, count, firstEntry] = [0, 1, 2];

/** The stalls that a control thread has seen, in memory that it shares with the thread that reads them. */
export class StallLog {
  readonly memory: SharedArrayBuffer;
  /** The last beat, the number of stalls, and of each stall its begin and its end. */
  readonly #cells: BigInt64Array;

  constructor(memory = new SharedArrayBuffer(8 * (firstEntry + 2 * capacity))) {
    this.memory = memory;
    this.#cells = new BigInt64Array(memory);
  }

  /** Called by the control whenever it wakes. A stall begins when it should have been woken. */
  beat(now: bigint) {
    const due = this.#due();
    // The reader looks at the count first and at the beat afterwards, so it can miss a stall for a moment, but not see it twice.
    Atomics.store(this.#cells, lastBeat, now);
    if (due === undefined || now - due <= toleranceNs) return;
    const stalls = Atomics.load(this.#cells, count);
    Atomics.store(this.#cells, cellOf(stalls), due);
    Atomics.store(this.#cells, cellOf(stalls) + 1, now);
    Atomics.store(this.#cells, count, stalls + 1n);
  }

  /** Returns how long the machine stalled between two times, the last of which is now or earlier. */
  between(start: bigint, end: bigint): bigint {
    const stalls = Atomics.load(this.#cells, count);
    // A stall that has not ended is not in the list yet.
    const due = this.#due() ?? end;
    let total = end - due > toleranceNs ? overlap(start, end, due, end) : 0n;
    for (let index = stalls - 1n; index >= 0n && index >= stalls - BigInt(capacity); index--) {
      const [begun, ended] = [Atomics.load(this.#cells, cellOf(index)), Atomics.load(this.#cells, cellOf(index) + 1)];
      if (ended <= start) break;
      total += overlap(start, end, begun, ended);
    }
    return total;
  }

  /** Returns when the control should wake next, or undefined if it has not started. */
  #due(): bigint | undefined {
    const beat = Atomics.load(this.#cells, lastBeat);
    return beat === 0n ? undefined : beat + periodNs;
  }
}

function cellOf(stall: bigint): number {
  return firstEntry + 2 * (Number(stall) % capacity);
}

function overlap(start: bigint, end: bigint, otherStart: bigint, otherEnd: bigint): bigint {
  const [from, to] = [start > otherStart ? start : otherStart, end < otherEnd ? end : otherEnd];
  return to > from ? to - from : 0n;
}
