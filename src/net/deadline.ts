import { NetworkError } from './network-error.ts';

/** What a request is waiting for. */
export type Phase = 'dns' | 'connect' | 'tls' | 'response' | 'body';

const waits: Record<Phase, string> = {
  dns: 'waiting for DNS',
  connect: 'while connecting',
  tls: 'during the TLS handshake',
  response: 'waiting for the response',
  body: 'while reading the body',
};

/** The time that a request has for all its steps, one after the other. */
export class Deadline {
  readonly #timeoutMs: number;
  readonly #timer: NodeJS.Timeout;
  #isOver = false;
  #interrupt = () => {};

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    this.#timer = setTimeout(() => {
      this.#isOver = true;
      this.#interrupt();
    }, timeoutMs);
  }

  /** Waits for a step until the time is over. The error then names the phase, which is asked for only in this case. */
  limit<T>(step: Promise<T>, phase: () => Phase): Promise<T> {
    const interrupted = new Promise<never>((_, reject) => {
      this.#interrupt = () => reject(timedOut(this.#timeoutMs, phase()));
    });
    if (this.#isOver) this.#interrupt();
    return Promise.race([interrupted, step]);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}

const silentPhases: readonly Phase[] = ['dns', 'connect'];

/** Until there is a connection, the target has not replied with anything. */
function timedOut(timeoutMs: number, phase: Phase): NetworkError {
  return new NetworkError(
    silentPhases.includes(phase) ? 'unreachable' : 'timeout',
    `timed out after ${timeoutMs / 1000} s ${waits[phase]}`,
  );
}
