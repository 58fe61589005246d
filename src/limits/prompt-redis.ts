import { Redis, ReplyError } from 'ioredis';

/** A limit is checked in every request, so a slower reply is worth less than an answer from the memory of this process. */
export const maxReplyMs = 250;
const minPauseMs = 250;
const maxPauseMs = 5000;
/** A connection that lasted for this long was not a short recovery of a server that is failing. */
const stableMs = 30_000;

/**
 * A client that disconnects when one reply takes too long. All waiting commands then fail at once, and so do new ones until a
 * new connection has answered in time. It tries to connect after pauses that grow.
 */
export class PromptRedis extends Redis {
  /** Why the last connection ended. */
  isTooSlow = false;
  readonly #onScriptResult: (error?: Error) => void;

  /**
   * `onScriptResult` is called after each script, which limits count with: without an error if it ran, or with the one that the
   * server returned, such as "READONLY" of a replica or "OOM" of a full server.
   */
  constructor(url: string, onScriptResult: (error?: Error) => void) {
    let failures = 0;
    let readyAtMs: number | undefined;
    super(url, {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      connectTimeout: 2000,
      retryStrategy() {
        if (readyAtMs !== undefined && performance.now() - readyAtMs > stableMs) failures = 0;
        readyAtMs = undefined;
        const pauseMs = Math.min(maxPauseMs, minPauseMs * 2 ** failures++);
        return pauseMs * (0.75 + Math.random() / 2); // Processes do not all come back at the same time.
      },
    });
    this.#onScriptResult = onScriptResult;
    this.on('ready', () => {
      readyAtMs = performance.now();
      this.isTooSlow = false;
    });
  }

  override sendCommand(...[command, stream]: Parameters<Redis['sendCommand']>): unknown {
    const sent = super.sendCommand(command, stream);
    let isPending = true;
    // If this process was suspended, the reply may have arrived, but timers come before it.
    const timer = setTimeout(() => setImmediate(() => isPending && this.#giveUp()), maxReplyMs);
    const settle = () => {
      isPending = false;
      clearTimeout(timer);
    };
    command.promise.then(settle, settle);
    if (/^eval/i.test(command.name)) this.#watchScript(command.promise);
    return sent;
  }

  #watchScript(result: Promise<unknown>) {
    result.then(
      () => this.#onScriptResult(),
      (error: Error) => {
        // A server that does not know the script yet gets it with the next command.
        if (error instanceof ReplyError && !error.message.startsWith('NOSCRIPT')) this.#onScriptResult(error);
      },
    );
  }

  #giveUp() {
    this.isTooSlow = true;
    this.stream.destroy();
  }
}
