import type { Logger } from 'pino';
import { OutageLog } from '../../telemetry/outage-log.ts';

/** Longer than the time until a check that failed locally is repeated, and fails again after a timeout. */
const quietMs = 30_000;

/** Logs local failures by reason: when checks begin to fail for it, once a minute, and when they run again, not once per monitor. */
export class LocalFailureLog {
  readonly #log: Logger;
  /** The reasons are a few fixed texts. */
  readonly #outages = new Map<string, OutageLog>();

  constructor(log: Logger) {
    this.#log = log;
  }

  failed(reason: string) {
    const outage = this.#outages.get(reason) ?? this.#create();
    this.#outages.set(reason, outage);
    outage.failed(reason);
  }

  /** A check has run. It does not tell which reasons are gone, but for a reason that is not gone another check fails soon. */
  succeeded() {
    for (const outage of this.#outages.values()) outage.succeeded();
  }

  #create(): OutageLog {
    return new OutageLog(this.#log, {
      began: 'Checks cannot run because of a local failure; no results are recorded',
      continues: 'Checks still cannot run because of a local failure',
      ended: 'Checks run again after a local failure',
      quietMs,
    });
  }
}
