/** So few bytes cost only a few comparisons for each byte of the body, whatever both contain. */
const prefixBytes = 7;

/**
 * Searches for bytes in pieces of a body. Node's search makes as many comparisons as the body has bytes times those of the needle,
 * if somebody chooses both for that. It is the fastest one otherwise, so it finds where the needle may begin. From there on, an
 * automaton (that of Knuth, Morris and Pratt) looks at each byte once, also if the needle begins in one piece and ends in another.
 */
export class TextSearch {
  readonly #needle: Buffer;
  readonly #prefix: Buffer;
  /** The column of each byte in the table. All bytes that the needle does not contain share the column 0. */
  readonly #columns = new Uint8Array(256);
  readonly #width: number;
  /** How many bytes of the needle match after another byte: one row for each number of bytes that matched before. */
  readonly #next: Uint16Array;
  #matched = 0;

  /** The needle is not empty, shorter than 64 KiB, and in UTF-8, which some bytes never occur in. */
  constructor(needle: Buffer) {
    this.#needle = needle;
    this.#prefix = needle.subarray(0, prefixBytes);
    const distinct = [...new Set(needle)];
    for (const [index, byte] of distinct.entries()) this.#columns[byte] = index + 1;
    this.#width = distinct.length + 1;
    this.#next = this.#table();
  }

  #table(): Uint16Array {
    const [columns, width] = [this.#columns, this.#width];
    const next = new Uint16Array(width * this.#needle.length);
    // A byte that does not continue the match leads to where the longest shorter match would lead: the row `shorter`.
    let shorter = 0;
    for (const [matched, byte] of this.#needle.entries()) {
      const column = columns[byte] ?? 0;
      if (matched > 0) next.copyWithin(matched * width, shorter * width, (shorter + 1) * width);
      shorter = matched > 0 ? (next[shorter * width + column] ?? 0) : 0;
      next[matched * width + column] = matched + 1;
    }
    return next;
  }

  get isFound(): boolean {
    return this.#matched === this.#needle.length;
  }

  /** Searches the next piece. After the needle was found, there is nothing more to search. */
  add(bytes: Buffer): void {
    // The last bytes are too few for the whole prefix.
    const lastBytes = Math.max(0, bytes.length - this.#prefix.length + 1);
    let index = 0;
    while (index < bytes.length && !this.isFound) {
      if (this.#matched === 0 && index < lastBytes) {
        const start = bytes.indexOf(this.#prefix, index);
        this.#matched = start === -1 ? 0 : this.#prefix.length;
        index = start === -1 ? lastBytes : start + this.#prefix.length;
      } else {
        index = this.#compare(bytes, index);
      }
    }
  }

  /** Compares bytes until the needle is found or nothing matches. Returns the index of the first that was not compared. */
  #compare(bytes: Buffer, start: number): number {
    const [columns, width, next, wanted] = [this.#columns, this.#width, this.#next, this.#needle.length];
    let [index, matched] = [start, this.#matched];
    do {
      matched = next[matched * width + (columns[bytes[index++] ?? 0] ?? 0)] ?? 0;
    } while (matched > 0 && matched < wanted && index < bytes.length);
    this.#matched = matched;
    return index;
  }
}
