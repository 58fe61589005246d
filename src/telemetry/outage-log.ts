import type { Logger } from 'pino';

interface Options {
  /** What the log says when the outage begins, while it lasts, and when it is over. */
  began: string;
  continues: string;
  ended: string;
  /** The outage is over when nothing has failed for this long after a success. */
  quietMs: number;
  reminderMs?: number;
}

/**
 * Logs an outage in one line when it begins, one a minute while it lasts, and one when it is over, however many operations fail
 * in the meantime.
 */
export class OutageLog {
  readonly #log: Logger;
  readonly #options: Options & { reminderMs: number };
  #outage: { since: Date; failures: number; lastLineMs: number } | undefined;
  #ending: NodeJS.Timeout | undefined;

  constructor(log: Logger, options: Options) {
    this.#log = log;
    this.#options = { reminderMs: 60_000, ...options };
  }

  failed(reason: string) {
    clearTimeout(this.#ending);
    this.#ending = undefined;
    const nowMs = performance.now();
    const outage = this.#outage;
    if (!outage) {
      this.#outage = { since: new Date(), failures: 1, lastLineMs: nowMs };
      this.#log.warn({ reason }, this.#options.began);
      return;
    }
    outage.failures++;
    if (nowMs - outage.lastLineMs < this.#options.reminderMs) return;
    outage.lastLineMs = nowMs;
    this.#log.warn({ reason, since: outage.since, failures: outage.failures }, this.#options.continues);
  }

  succeeded() {
    if (!this.#outage || this.#ending) return;
    const { since, failures } = this.#outage;
    const until = new Date();
    this.#ending = setTimeout(() => {
      this.#ending = undefined;
      this.#outage = undefined;
      this.#log.warn({ since, until, failures }, this.#options.ended);
    }, this.#options.quietMs).unref();
  }
}
