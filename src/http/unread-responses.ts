import type { ServerResponse } from 'node:http';

/** How long a client has to read a response. */
const readTimeoutMs = 30_000;
/** How many bytes of responses can wait in this process. */
const maxWaitingBytes = 64 * 1024 * 1024;
const sweepMs = 1000;

interface WaitingResponse {
  response: ServerResponse;
  bytes: number;
  since: number;
}

/**
 * Abandons responses that clients do not read: each after a while, and the oldest ones at once when too many bytes wait in
 * this process. Otherwise clients that send requests and never read could fill the memory.
 */
export class UnreadResponses {
  /** A set keeps insertion order: the first response has waited longest. */
  readonly #waiting = new Set<WaitingResponse>();
  readonly #timer = setInterval(() => this.#abandonLate(), sweepMs).unref();
  readonly #options: { timeoutMs: number; maxBytes: number };
  #bytes = 0;

  constructor(options = { timeoutMs: readTimeoutMs, maxBytes: maxWaitingBytes }) {
    this.#options = options;
  }

  /** Watches a response from the moment it is complete until the operating system has taken all of it. */
  watch(response: ServerResponse) {
    response.once('prefinish', () => {
      if (response.writableLength > 0) this.#add({ response, bytes: response.writableLength, since: performance.now() });
    });
  }

  stop() {
    clearInterval(this.#timer);
  }

  #add(waiting: WaitingResponse) {
    this.#waiting.add(waiting);
    this.#bytes += waiting.bytes;
    waiting.response.once('close', () => this.#remove(waiting));
    for (const oldest of this.#waiting) {
      if (this.#bytes <= this.#options.maxBytes) return;
      this.#abandon(oldest);
    }
  }

  #remove(waiting: WaitingResponse) {
    if (this.#waiting.delete(waiting)) this.#bytes -= waiting.bytes;
  }

  #abandon(waiting: WaitingResponse) {
    this.#remove(waiting);
    waiting.response.destroy();
  }

  #abandonLate() {
    const deadline = performance.now() - this.#options.timeoutMs;
    for (const waiting of this.#waiting) {
      if (waiting.since > deadline) return;
      this.#abandon(waiting);
    }
  }
}
