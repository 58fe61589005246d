const initialBytes = 16 * 1024;

/** Collects the first bytes of a body in one buffer. A list of chunks could need a hundred times as much memory, if they are tiny. */
export class BodyBuffer {
  readonly #max: number;
  #buffer: Buffer;
  #size = 0;

  constructor(max: number) {
    this.#max = max;
    this.#buffer = Buffer.alloc(Math.min(max, initialBytes));
  }

  get size(): number {
    return this.#size;
  }

  get isFull(): boolean {
    return this.#size >= this.#max;
  }

  /** Adds a chunk. What exceeds the maximum is dropped. */
  add(chunk: Buffer) {
    const needed = Math.min(this.#size + chunk.length, this.#max);
    if (needed > this.#buffer.length) {
      const larger = Buffer.alloc(Math.min(Math.max(needed, 2 * this.#buffer.length), this.#max));
      this.#buffer.copy(larger, 0, 0, this.#size);
      this.#buffer = larger;
    }
    chunk.copy(this.#buffer, this.#size);
    this.#size = needed;
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#size);
  }
}
