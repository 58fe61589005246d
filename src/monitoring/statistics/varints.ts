// Numbers as variable-length bytes, seven bits each, the lowest first. They are written with arithmetic, because bit operations
// end at 32 bits, and the observed time of many monitors does not.

export class ByteWriter {
  readonly #bytes: number[] = [];

  byte(value: number) {
    this.#bytes.push(value);
  }

  /** Writes a whole number from 0 to 2^53. */
  varint(value: number) {
    let rest = value;
    while (rest >= 128) {
      this.#bytes.push((rest % 128) + 128);
      rest = Math.floor(rest / 128);
    }
    this.#bytes.push(rest);
  }

  finish(): Buffer {
    return Buffer.from(this.#bytes);
  }
}

export class ByteReader {
  readonly #bytes: Uint8Array;
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#position >= this.#bytes.length;
  }

  byte(): number {
    const value = this.#bytes[this.#position++];
    if (value === undefined) throw new Error('Stored statistics end in the middle of a value.');
    return value;
  }

  varint(): number {
    let byte = this.byte();
    if (byte < 128) return byte;
    let value = 0;
    let factor = 1;
    for (; byte >= 128; byte = this.byte()) {
      value += (byte - 128) * factor;
      factor *= 128;
    }
    return value + byte * factor;
  }

  /** Returns the next bytes. */
  take(length: number): Uint8Array {
    if (length > this.#bytes.length - this.#position) throw new Error('Stored statistics end in the middle of a value.');
    this.#position += length;
    return this.#bytes.subarray(this.#position - length, this.#position);
  }
}
