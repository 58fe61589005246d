import type { Logger } from 'pino';
import type { Database } from '../../db/database.ts';
import { TryLater } from '../../errors.ts';
import type { Metrics } from '../../metrics.ts';
import type { Net } from '../../net/resolve.ts';
import type { Tracer } from '../../trace.ts';
import { type Claim, claimDueMonitors, leaseSeconds, releaseClaims, spreadOverdue } from './claim.ts';
import { OurFault } from './our-fault.ts';
import { probeHttp } from './probe-http.ts';
import { type Pinger, probePing } from './probe-ping.ts';
import { type Checked, recordResults } from './record.ts';
import { SleepWatch } from './sleep-watch.ts';
import type { CheckResult } from './transition.ts';

export interface EngineParts {
  database: Database;
  net: Net;
  pinger: Pinger;
  log: Logger;
  metrics: Pick<Metrics, 'checks' | 'lateness' | 'engineFaults'>;
  tracer?: Tracer | undefined;
  /** Checks under way at once, at most. */
  concurrency?: number;
}

const idleMs = 250;
/** While more is due than there is room for. */
const busyMs = 10;
const batch = 500;
const retrySeconds = 10;
const leaseMs = leaseSeconds * 1000;

/** due → claim → probe → transition → record, until it is stopped. */
export class Engine {
  readonly #parts: EngineParts & { concurrency: number };
  readonly #checked: Checked[] = [];
  readonly #spoilt: Claim[] = [];
  /** And when each was claimed. */
  readonly #underWay = new Map<Claim, number>();
  readonly #sleep = new SleepWatch();
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: EngineParts) {
    this.#parts = { concurrency: 500, ...parts };
  }

  start() {
    this.#turn = this.#tick().then((pauseMs) => {
      if (!this.#stopped) this.#timer = setTimeout(() => this.start(), pauseMs);
    });
  }

  /** Finishes nothing that would take long: claims that are still open go back at once. */
  async stop() {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#turn;
    this.#sleep.stop();
    const open = [...this.#underWay.keys(), ...this.#spoilt.splice(0)];
    await this.#write(this.#checked.splice(0), open, 0);
  }

  /** One round; returns how long to wait before the next. */
  async #tick(): Promise<number> {
    try {
      if (this.#sleep.hasEnded()) {
        await this.#parts.database.asEngine(spreadOverdue);
        this.#sleep.forget();
      }
      this.#giveUpEndless();
      await this.#writeDone();
      const room = Math.min(batch, this.#parts.concurrency - this.#underWay.size);
      if (room <= 0) return busyMs;
      const claims = this.#stopped ? [] : await this.#parts.database.asEngine((em) => claimDueMonitors(em, room));
      this.#check(claims);
      return claims.length === room ? busyMs : idleMs;
    } catch (error) {
      this.#parts.metrics.engineFaults.inc();
      const isAway = error instanceof TryLater;
      this.#parts.log.warn(
        { err: error },
        isAway ? 'The engine cannot reach the database; nothing is checked meanwhile' : 'A round of the engine failed',
      );
      return idleMs;
    }
  }

  /** What cannot be written for the moment is kept: another check would have to wait until the lease is over. */
  async #writeDone() {
    const [checked, spoilt] = [this.#checked.splice(0), this.#spoilt.splice(0)];
    try {
      await this.#write(checked, spoilt, retrySeconds);
    } catch (error) {
      if (error instanceof TryLater) {
        this.#checked.push(...checked);
        this.#spoilt.push(...spoilt);
      }
      throw error;
    }
  }

  async #write(checked: Checked[], released: Claim[], afterSeconds: number) {
    // Time limits ran out while we were asleep, and what is older than a lease says nothing about now.
    const since = Math.max(this.#sleep.awakeSinceMs(), performance.now() - leaseMs);
    const told = checked.filter(({ startedMs }) => startedMs >= since);
    const stale = checked.filter(({ startedMs }) => startedMs < since).map(({ claim }) => claim);
    if (told.length === 0 && released.length + stale.length === 0) return;
    await this.#parts.database.asEngine(async (em) => {
      if (told.length > 0) await recordResults(em, told);
      if (released.length + stale.length > 0) await releaseClaims(em, [...released, ...stale], afterSeconds);
    });
  }

  /** Every check has a time limit. Should one fail to keep to it, it must not take the room of the others for ever. */
  #giveUpEndless() {
    const since = performance.now() - leaseMs;
    for (const [claim, claimedMs] of this.#underWay) {
      if (claimedMs < since) this.#spoil(claim, new Error('The check did not end within its time limit'), claimedMs);
    }
  }

  #check(claims: Claim[]) {
    for (const claim of claims) {
      const startedMs = performance.now();
      this.#underWay.set(claim, startedMs);
      this.#parts.metrics.lateness.observe(claim.latenessMs / 1000);
      this.#probe(claim).then(
        (result) => this.#finish(claim, result, startedMs),
        (error: unknown) => this.#spoil(claim, error, startedMs),
      );
    }
  }

  #probe({ type, url }: Claim): Promise<CheckResult | OurFault> {
    const { net, pinger } = this.#parts;
    return type === 'http' ? probeHttp(url, net) : probePing(url, net, pinger);
  }

  #finish(claim: Claim, result: CheckResult | OurFault, startedMs: number) {
    if (result instanceof OurFault) return this.#spoil(claim, result, startedMs);
    if (!this.#underWay.delete(claim)) return; // given up before
    this.#checked.push({ claim, result, startedMs });
    this.#count(claim, result.up ? 'up' : 'down', startedMs);
  }

  #spoil(claim: Claim, error: unknown, startedMs: number) {
    if (!this.#underWay.delete(claim)) return;
    this.#spoilt.push(claim);
    this.#count(claim, 'our_fault', startedMs);
    this.#parts.log.warn({ err: error, monitor_id: claim.id }, 'A check could not be made for a reason on our side; nothing was recorded');
  }

  #count({ id, type }: Claim, outcome: 'up' | 'down' | 'our_fault', startedMs: number) {
    this.#parts.metrics.checks.inc({ type, outcome });
    const span = this.#parts.tracer?.start(`check ${type}`, { kind: 'client', startedMs });
    span?.end({ failed: outcome === 'our_fault', attributes: { monitor_id: id, outcome } });
  }
}
