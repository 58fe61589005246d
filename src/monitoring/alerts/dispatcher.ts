import { setTimeout as delay } from 'node:timers/promises';
import type { Query } from '../../db/statement.ts';
import { DatabaseOutage } from '../../errors.ts';
import type { ProviderType } from '../channels/channel.ts';
import { channelOf } from '../channels/registry.ts';
import { Loop, type Pause } from '../loop.ts';
import { defaultMaxSleepMs, msUntilDue } from '../wake.ts';
import { AlertSender, outcomes, type SenderDeps } from './alert-sender.ts';
import { alertsPerLease, batchesOf } from './batches.ts';
import { chooseProviders } from './choose-providers.ts';
import { findWaitingProviders, selectNextAttempt, type WaitingProvider } from './due-alerts.ts';
import { type LeasedAlert, leaseAlerts } from './lease-alerts.ts';
import { leasesOf, releaseAlerts, releaseWaiting } from './leases.ts';
import { type FailingProvider, queueFailingNotices } from './notices.ts';
import { queueReminders } from './reminders.ts';

interface DispatcherDeps extends Omit<SenderDeps, 'isStopped'> {
  maxSleepMs?: number;
}

const retryMs = 250;
/** The shortest time between two searches for due alerts. Alerts that are queued in between are leased together. */
const minMs = 250;
/** How long the shutdown waits for running attempts. */
const shutdownTimeoutMs = 4000;

/** Sends queued alerts, and retries each until it is accepted or 24 hours have passed. */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #sender: AlertSender;
  /** Each provider gets one message at a time, so that a slow one delays only itself. */
  readonly #sending = new Map<number, { userId: number; channel: ProviderType; work: Promise<void> }>();
  /** Leased and not finished. Maps each alert to whether its attempt has begun, so that it may have been sent. */
  readonly #leased = new Map<LeasedAlert, boolean>();
  /** The user after whom the next iteration looks for due alerts. */
  #afterUserId = 0;
  /** The user after whom it looks for reminders. */
  #remindAfterUserId = 0;
  readonly #loop = new Loop(() => this.#iterate());

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.#sender = new AlertSender({ ...deps, isStopped: () => this.#loop.isStopped });
  }

  get isAlive(): boolean {
    return this.#loop.isAlive;
  }

  start() {
    // Prometheus does not see an increase in a counter that first appears as 1, and would miss the first failed alert.
    for (const channel of Object.keys(this.#deps.channels)) {
      for (const outcome of outcomes) this.#deps.metrics.alerts.inc({ channel, outcome }, 0);
    }
    this.#loop.start();
  }

  /** Looks for due alerts soon. */
  wake() {
    this.#loop.wake();
  }

  /** Waits for running attempts for a while, then releases the leases of all unfinished alerts. */
  async stop() {
    await this.#loop.stop();
    await Promise.race([
      Promise.all([...this.#sending.values()].map(({ work }) => work)),
      delay(shutdownTimeoutMs, undefined, { ref: false }),
    ]);
    if (this.#leased.size > 0) await this.#transaction((query) => releaseAlerts(query, this.#leased));
  }

  async #iterate(): Promise<Pause> {
    const request = { busyProviders: [...this.#sending.keys()], afterUserId: this.#afterUserId };
    try {
      const { failing, reminders, leased, continueAfter, nextAttempt } = await this.#transaction(async (query) => {
        const failing = await queueFailingNotices(query);
        const reminders = await queueReminders(query, this.#remindAfterUserId);
        const { providers, continueAfter } = await findWaitingProviders(query, request);
        const chosen = chooseProviders(providers, [...this.#sending.values()]);
        const leased = await leaseAlerts(
          query,
          chosen.map((provider) => ({ ...provider, limit: alertsPerLease[this.#channelOf(provider).audience] })),
        );
        const [[nextAttempt]] = await query(selectNextAttempt({}));
        return { failing, reminders, leased, continueAfter, nextAttempt };
      });
      this.#report(failing);
      this.#afterUserId = continueAfter;
      this.#remindAfterUserId = reminders.continueAfter;
      for (const alert of leased) this.#leased.set(alert, false);
      for (const [providerId, alerts] of Map.groupBy(leased, (alert) => alert.providerId)) {
        const [{ userId, channel }] = alerts as [LeasedAlert];
        const work = this.#sendInOrder(alerts).finally(() => this.#release(providerId));
        this.#sending.set(providerId, { userId, channel, work });
      }
      const hasVisitedAll = request.afterUserId === 0 && continueAfter === 0 && !reminders.hasMore && failing.length === 0;
      const { maxSleepMs = defaultMaxSleepMs } = this.#deps;
      return { minMs, maxMs: hasVisitedAll ? Math.min(maxSleepMs, msUntilDue(nextAttempt?.seconds ?? undefined)) : minMs };
    } catch (error) {
      if (!(error instanceof DatabaseOutage)) this.#deps.log.warn({ err: error }, 'Reading due alerts failed; it will be retried');
      return { minMs: retryMs, maxMs: retryMs };
    }
  }

  /** Alerts that are due may wait for this provider, for a slot of its channel, or for an alert that was sent to it. */
  #release(providerId: number) {
    this.#sending.delete(providerId);
    this.#loop.wake();
  }

  /** Sends alerts of one provider, until it has to wait. */
  async #sendInOrder(alerts: LeasedAlert[]) {
    const waiting = new Set(alerts);
    for (const batch of batchesOf(alerts, this.#channelOf(alerts[0] as LeasedAlert))) {
      if (this.#loop.isStopped) return;
      for (const alert of batch) waiting.delete(alert);
      const takesMore = await this.#send(batch);
      if (this.#loop.isStopped) return;
      for (const alert of batch) this.#leased.delete(alert);
      if (!takesMore) break;
    }
    if (waiting.size === 0) return;
    for (const alert of waiting) this.#leased.delete(alert);
    await this.#transaction((query) => query(releaseWaiting(leasesOf([...waiting])))).catch((error: unknown) =>
      this.#deps.log.warn({ err: error }, 'Could not release alerts; they are sent when their leases end'),
    );
  }

  async #send(batch: LeasedAlert[]): Promise<boolean> {
    try {
      return await this.#sender.send(batch, () => batch.forEach((alert) => void this.#leased.set(alert, true)));
    } catch (error) {
      this.#deps.log.warn({ err: error, alert_id: batch[0]?.id }, 'Could not record that an alert was sent; it may be sent again');
      return true;
    }
  }

  #report(failing: FailingProvider[]) {
    for (const { id, userId, told } of failing) {
      const message = 'A provider has been failing for an hour';
      if (told > 0) this.#deps.log.info({ provider_id: id, user_id: userId, told }, message);
      else this.#deps.log.warn({ provider_id: id, user_id: userId }, `${message}, and its user has no other one`);
    }
  }

  #channelOf({ channel }: Pick<WaitingProvider, 'channel'>) {
    return channelOf(this.#deps.channels, channel);
  }

  #transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.#deps.database.engineTransaction(work);
  }
}
