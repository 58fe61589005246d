import type { IncomingMessage } from 'node:http';

type Socket = IncomingMessage['socket'];

const sweepMs = 50;

/**
 * The connections of a server. When the server stops, those that are idle are closed. Node's own closeIdleConnections would also
 * close those that were just used, or were just opened and have sent nothing yet. A request that is in transit would be lost.
 */
export class OpenConnections {
  readonly #isBusy: (socket: Socket) => boolean;
  readonly #sockets = new Set<Socket>();
  /** What each idle connection had sent, and since when it has sent nothing else. */
  readonly #idle = new WeakMap<Socket, { bytesRead: number; sinceMs: number }>();
  #timer: NodeJS.Timeout | undefined;
  #maxIdleMs = Number.POSITIVE_INFINITY;

  /** `isBusy` tells whether a request of the connection is in progress. */
  constructor(isBusy: (socket: Socket) => boolean) {
    this.#isBusy = isBusy;
  }

  add(socket: Socket) {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  /** Starts to measure how long connections are idle. */
  watch() {
    this.#sweep();
    // The sweep follows the reading of what has arrived, because timers of a process that was suspended would come first.
    this.#timer ??= setInterval(() => setImmediate(() => this.#sweep()), sweepMs);
  }

  /** Closes the connections that are idle for this long, now or later. */
  closeIdle(maxIdleMs: number) {
    this.#maxIdleMs = maxIdleMs;
    this.watch();
  }

  stop() {
    clearInterval(this.#timer);
  }

  #sweep() {
    const now = performance.now();
    for (const socket of this.#sockets) {
      const { bytesRead } = socket;
      const idle = this.#idle.get(socket);
      if (this.#isBusy(socket)) this.#idle.delete(socket);
      else if (idle?.bytesRead !== bytesRead) this.#idle.set(socket, { bytesRead, sinceMs: now });
      else if (now - idle.sinceMs >= this.#maxIdleMs) socket.destroy();
    }
  }
}
