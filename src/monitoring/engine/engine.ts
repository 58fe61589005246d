import type { Logger } from 'pino';
import type { Database } from '../../db/database.ts';
import type { Query } from '../../db/statement.ts';
import { DatabaseOutage, RetryLaterError } from '../../errors.ts';
import type { TcpAddress } from '../../net/tcp-probe.ts';
import { inTurn } from '../../net/turns.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { asTrace, outsideTrace, type Tracer } from '../../telemetry/tracing.ts';
import type { CheckDeps, CheckResult } from '../checks/check.ts';
import { LocalFailure } from '../checks/local-failure.ts';
import { checkOf } from '../checks/registry.ts';
import { Loop, type Pause } from '../loop.ts';
import { defaultMaxSleepMs, msUntilDue } from '../wake.ts';
import { type Claim, claimFairly, leaseMs } from './claim.ts';
import { type ComparedMonitor, findComparedMonitors } from './compared-monitors.ts';
import { Connectivity } from './connectivity.ts';
import { LocalFailureLog } from './local-failure-log.ts';
import { type CompletedCheck, recordResults } from './record.ts';
import { type ReleasedClaim, releaseClaims, spreadOverdue } from './release.ts';
import { SuspensionDetector } from './suspension-detector.ts';

export interface EngineDeps extends CheckDeps {
  database: Database;
  log: Logger;
  metrics: Pick<Metrics, 'checks' | 'lateness' | 'engineErrors'>;
  tracer?: Tracer | undefined;
  /** The maximum number of concurrent checks. */
  concurrency?: number;
  maxSleepMs?: number;
  /** What the operator has named as always reachable. */
  connectivityCheck?: TcpAddress | undefined;
  /** Called when alerts have been queued. */
  onAlerts?(): void;
}

/** The shortest delay between two iterations, unless more monitors are due. Results that arrive in between are recorded together. */
const idleMs = 250;
/** The same while few monitors are due. Each iteration costs as much as some checks, so that more are collected for it. */
const quietMs = 500;
const fewClaims = 50;
/** The delay between iterations while more monitors are due than there are free slots. */
const busyMs = 10;
/** The delay without a network. Another process that has one takes the due monitors in the meantime. */
const silentMs = 5000;
/** Without a claim for so long, which is twice the longest sleep, the database was not available. */
const interruptionMs = 2 * defaultMaxSleepMs;
const batchSize = 500;
const retrySeconds = 10;

/** Repeats until it is stopped: claim due monitors → check → transition → record. In between it sleeps until a monitor is due. */
export class Engine {
  readonly #deps: EngineDeps & { concurrency: number; maxSleepMs: number };
  readonly #completed: CompletedCheck[] = [];
  readonly #abandoned: ReleasedClaim[] = [];
  /** Maps each running check to the time it was claimed, so that checks that never end can be dropped. */
  readonly #running = new Map<Claim, number>();
  readonly #localFailures: LocalFailureLog;
  readonly #suspension = new SuspensionDetector(() => this.wake());
  readonly #connectivity: Connectivity;
  /** Whether overdue monitors must be spread, because no check may have run for some time. */
  #mustSpread = true;
  /** When this process last claimed monitors, on the monotonic clock. */
  #claimedMs = performance.now();
  #wasSilent = false;
  /** If users wait for slots: when to claim again, or how many running checks must be left before. */
  #claimAgain: { atMs: number; running: number } | undefined;
  /** The user after whom the next claim looks for due monitors. */
  #afterUserId = 0;
  readonly #loop = new Loop(() => this.#iterate());

  constructor(deps: EngineDeps) {
    this.#deps = { concurrency: 500, maxSleepMs: defaultMaxSleepMs, ...deps };
    this.#localFailures = new LocalFailureLog(deps.log);
    this.#connectivity = new Connectivity({ ...deps, address: deps.connectivityCheck, findUp: (claim) => this.#findUp(claim) });
  }

  get isAlive(): boolean {
    return this.#loop.isAlive;
  }

  start() {
    this.#loop.start();
  }

  /** Looks for due monitors soon. */
  wake() {
    this.#loop.wake();
  }

  /** Records completed checks and releases the claims of running ones, so that another process can take them at once. */
  async stop() {
    await this.#loop.stop();
    this.#suspension.stop();
    const unfinished = [...[...this.#running.keys()].map((claim) => ({ claim })), ...this.#abandoned.splice(0)];
    await this.#write(this.#completed.splice(0), unfinished, 0);
  }

  async #iterate(): Promise<Pause> {
    try {
      this.#noticeInterruption();
      if (this.#mustSpread) {
        await spreadOverdue(
          (work) => this.#transaction(work),
          () => this.#loop.goesOn(),
        );
        this.#mustSpread = false;
      }
      this.#abandonTimedOut();
      await this.#writeCompleted();
      const freeSlots = Math.min(batchSize, this.#deps.concurrency - this.#running.size);
      if (freeSlots <= 0 || this.#waitsForSlots()) return pauseOf(busyMs);
      if (this.#loop.isStopped) return pauseOf(idleMs);
      const request = { freeSlots, running: [...this.#running.keys()], afterUserId: this.#afterUserId };
      const claimed = await this.#transaction((query) => claimFairly(query, request));
      const { claims, hasMore, needsSlots, continueAfter, nextDueSeconds } = claimed;
      this.#claimedMs = performance.now();
      this.#afterUserId = continueAfter;
      if (this.#suspension.wasSuspended()) {
        this.#abandoned.push(...claims.map((claim) => ({ claim }))); // The failures of these monitors may have expired meanwhile.
        return pauseOf(0);
      }
      await this.#startChecks(claims);
      // Slots that became free while this was claiming count as well.
      const running = Math.max(0, request.running.length - Math.ceil(this.#deps.concurrency / 20));
      this.#claimAgain = needsSlots ? { atMs: performance.now() + idleMs, running } : undefined;
      if (this.#connectivity.isSilent) return pauseOf(silentMs);
      if (hasMore || needsSlots) return pauseOf(busyMs);
      return {
        minMs: claims.length < fewClaims ? quietMs : idleMs,
        maxMs: Math.min(this.#deps.maxSleepMs, msUntilDue(nextDueSeconds), this.#msUntilTimeout()),
      };
    } catch (error) {
      this.#deps.metrics.engineErrors.inc();
      if (!(error instanceof DatabaseOutage)) this.#deps.log.warn({ err: error }, 'An engine iteration failed');
      return pauseOf(idleMs);
    }
  }

  /** Notices that this process was suspended, or that its database or its network is back. */
  #noticeInterruption() {
    const { isSilent } = this.#connectivity;
    const isNetworkBack = this.#wasSilent && !isSilent;
    if (isNetworkBack || this.#suspension.wasSuspended() || performance.now() - this.#claimedMs > interruptionMs) this.#mustSpread = true;
    this.#wasSilent = isSilent;
    this.#suspension.acknowledge();
  }

  /** Slots become free one by one. Claiming for each of them would keep the database busy, so a batch of them is collected. */
  #waitsForSlots(): boolean {
    return this.#claimAgain !== undefined && performance.now() < this.#claimAgain.atMs && this.#running.size > this.#claimAgain.running;
  }

  /** Keeps results that cannot be written now: repeating the checks would have to wait until the leases expire. */
  async #writeCompleted() {
    const [completed, abandoned] = [this.#completed.splice(0), this.#abandoned.splice(0)];
    try {
      await this.#write(completed, abandoned, retrySeconds);
    } catch (error) {
      if (error instanceof RetryLaterError) {
        this.#completed.push(...completed);
        this.#abandoned.push(...abandoned);
      }
      throw error;
    }
  }

  async #write(completed: CompletedCheck[], released: ReleasedClaim[], retryAfterSeconds: number) {
    // Timeouts expire while the process is suspended, and a result older than a lease says nothing about the present.
    const resumedMs = this.#suspension.resumedAtMs();
    const isValid = ({ claim, startedMs }: CompletedCheck) => startedMs >= Math.max(resumedMs, performance.now() - leaseMs(claim));
    const { true: valid = [], false: stale = [] } = Object.groupBy(completed, (check) => (isValid(check) ? 'true' : 'false'));
    if (valid.length === 0 && released.length + stale.length === 0) return;
    const recorded = await this.#transaction(async (query) => {
      if (released.length + stale.length > 0) await releaseClaims(query, [...released, ...stale], retryAfterSeconds);
      return valid.length > 0 ? recordResults(query, valid) : undefined;
    });
    if (recorded?.hasAlerts) this.#deps.onAlerts?.();
  }

  #transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.#deps.database.engineTransaction(work);
  }

  /** Every check has a timeout. If a bug prevents that, the check must not occupy its slot forever. */
  #abandonTimedOut() {
    for (const [claim, claimedMs] of this.#running) {
      if (performance.now() > claimedMs + leaseMs(claim)) this.#abandon(claim, new Error('The check did not end within its timeout'));
    }
  }

  /** The time until the first of the running checks is abandoned. */
  #msUntilTimeout(): number {
    const ends = [...this.#running].map(([claim, claimedMs]) => claimedMs + leaseMs(claim));
    return Math.min(...ends) - performance.now() + 1;
  }

  /** Starts checks in as many turns of the event loop as it takes: preparing a request with long options takes a while. */
  async #startChecks(claims: Claim[]) {
    const claimedMs = performance.now();
    for (const claim of claims) this.#running.set(claim, claimedMs);
    // A turn is shared with other work, which must not become the parent of what is traced here.
    await Promise.all(claims.map((claim) => inTurn('starting', claim.userId, () => outsideTrace(() => this.#startCheck(claim)))));
  }

  #startCheck(claim: Claim) {
    const startedMs = performance.now();
    this.#running.set(claim, startedMs);
    this.#deps.metrics.lateness.observe(claim.latenessMs / 1000);
    this.#check(claim, startedMs).then(
      (result) => this.#complete(claim, result, startedMs),
      (error: unknown) => this.#abandon(claim, error),
    );
  }

  #check(claim: Claim, startedMs: number): Promise<CheckResult | LocalFailure> {
    const attributes = { 'server.address': claim.host, 'sitekeeper.monitor_id': claim.id };
    return asTrace(this.#deps.tracer, `check ${claim.type}`, attributes, async (addAttributes) => {
      const found = await checkOf(claim.type).run(claim, this.#deps);
      const result = found instanceof LocalFailure ? found : await this.#connectivity.judge(claim, found, startedMs);
      if (result instanceof LocalFailure) addAttributes({ 'sitekeeper.outcome': 'local_failure', 'error.type': 'local_failure' });
      else addAttributes({ 'sitekeeper.outcome': result.up ? 'up' : 'down' });
      return result;
    });
  }

  #findUp(claim: Pick<Claim, 'userId' | 'host'>): Promise<ComparedMonitor[]> {
    return this.#transaction((query) => findComparedMonitors(query, claim)).catch((error) => {
      throw error instanceof RetryLaterError ? new LocalFailure('the database is not available') : error;
    });
  }

  #complete(claim: Claim, result: CheckResult | LocalFailure, startedMs: number) {
    if (result instanceof LocalFailure) return this.#abandon(claim, result);
    if (!this.#running.delete(claim)) return; // It was abandoned before.
    this.#completed.push({ claim, result, startedMs });
    this.#localFailures.succeeded();
    this.#deps.metrics.checks.inc({ type: claim.type, outcome: result.up ? 'up' : 'down' });
    this.#loop.wake();
  }

  #abandon(claim: Claim, error: unknown) {
    if (!this.#running.delete(claim)) return;
    this.#abandoned.push({ claim, failure: error instanceof LocalFailure ? error : new LocalFailure('an internal error') });
    this.#deps.metrics.checks.inc({ type: claim.type, outcome: 'local_failure' });
    if (error instanceof LocalFailure) this.#localFailures.failed(error.message);
    else this.#deps.log.warn({ err: error, monitor_id: claim.id }, 'A check failed with an internal error; no result was recorded');
    this.#loop.wake();
  }
}

function pauseOf(ms: number): Pause {
  return { minMs: ms, maxMs: ms };
}
