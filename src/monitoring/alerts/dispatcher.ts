import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { SecretCipher } from '../../auth/secret-cipher.ts';
import type { Database } from '../../db/database.ts';
import { prepareSelect } from '../../db/rows.ts';
import type { Query, Statement } from '../../db/statement.ts';
import { DatabaseOutage, RetryLaterError } from '../../errors.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { asTrace, type Tracer } from '../../telemetry/tracing.ts';
import { DeliveryFailed, type Message, type ProviderType } from '../channels/channel.ts';
import { type Channels, channelOf } from '../channels/registry.ts';
import { Loop, type Pause } from '../loop.ts';
import { contentOf } from '../messages/content.ts';
import { type Provider, ProviderEntity } from '../providers/provider.entity.ts';
import { decryptSettings } from '../providers/provider.settings.ts';
import { defaultMaxSleepMs, msUntilDue } from '../wake.ts';
import { chooseProviders } from './choose-providers.ts';
import { findWaitingProviders, type LeasedAlert, leaseAlerts, lockLeased, selectNextAttempt } from './due-alerts.ts';
import { messageIdOf, readInstallationId } from './message-id.ts';
import { countMessage, type ReachedLimit } from './message-limits.ts';
import { beginAttempt, canceledError, endCanceledLease, markEnded, markSent, postpone, releaseAlerts } from './outbox.ts';

interface DispatcherDeps {
  database: Database;
  channels: Channels;
  cipher: SecretCipher;
  log: Logger;
  metrics: Pick<Metrics, 'alerts'>;
  tracer?: Tracer | undefined;
  maxSleepMs?: number;
}

const outcomes = ['sent', 'retried', 'misconfigured', 'failed', 'suppressed'] as const;
const retryMs = 250;
/** The shortest time between two searches for due alerts. Alerts that are queued in between are leased together. */
const minMs = 250;
const giveUpSeconds = 24 * 3600;
const maxDelaySeconds = 15 * 60;
/** How long the shutdown waits for running attempts. */
const shutdownTimeoutMs = 4000;

const selectProvider = prepareSelect(ProviderEntity);

/** Sends queued alerts, and retries each until it is accepted or 24 hours have passed. */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  /** Each provider gets one message at a time, so that a slow one delays only itself. */
  readonly #sending = new Map<number, { userId: number; channel: ProviderType; work: Promise<void> }>();
  /** Leased and not finished. Maps each alert to whether its attempt has begun, so that it may have been sent. */
  readonly #leased = new Map<LeasedAlert, boolean>();
  /** The user after whom the next iteration looks for due alerts. */
  #afterUserId = 0;
  #installationId = '';
  readonly #loop = new Loop(() => this.#iterate());

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
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
      const { leased, continueAfter, nextAttempt } = await this.#transaction(async (query) => {
        this.#installationId ||= await readInstallationId(query);
        const { providers, continueAfter } = await findWaitingProviders(query, request);
        const leased = await leaseAlerts(query, chooseProviders(providers, [...this.#sending.values()]));
        const [[nextAttempt]] = await query(selectNextAttempt({}));
        return { leased, continueAfter, nextAttempt };
      });
      this.#afterUserId = continueAfter;
      for (const alert of leased) this.#leased.set(alert, false);
      for (const [providerId, alerts] of Map.groupBy(leased, (alert) => alert.providerId)) {
        const [{ userId, channel }] = alerts as [LeasedAlert];
        const work = this.#sendInOrder(alerts).finally(() => this.#release(providerId));
        this.#sending.set(providerId, { userId, channel, work });
      }
      const hasVisitedAll = request.afterUserId === 0 && continueAfter === 0;
      const { maxSleepMs = defaultMaxSleepMs } = this.#deps;
      return { minMs, maxMs: hasVisitedAll ? Math.min(maxSleepMs, msUntilDue(nextAttempt?.seconds)) : minMs };
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

  async #sendInOrder(alerts: LeasedAlert[]) {
    for (const alert of alerts) {
      if (this.#loop.isStopped) return;
      await this.#send(alert).catch((error: unknown) =>
        this.#deps.log.warn({ err: error, alert_id: alert.id }, 'Could not record that an alert was sent; it may be sent again'),
      );
      if (!this.#loop.isStopped) this.#leased.delete(alert);
    }
  }

  async #send(alert: LeasedAlert) {
    const { log, metrics, tracer } = this.#deps;
    const { provider, reached } = await this.#withDatabase((query) => this.#admit(query, alert));
    if (reached) {
      const { id, userId, providerId, channel } = alert;
      metrics.alerts.inc({ channel, outcome: 'suppressed' });
      log.warn({ alert_id: id, user_id: userId, provider_id: providerId, limit: reached.limit }, 'Alert suppressed by a limit');
      return;
    }
    if (!provider || this.#loop.isStopped) return;
    this.#leased.set(alert, true);
    await asTrace(tracer, `alert ${provider.providerType}`, { 'sitekeeper.alert_id': alert.id }, async (addAttributes) => {
      const { outcome, mark } = await this.#deliver(alert, provider);
      addAttributes({ 'sitekeeper.outcome': outcome, 'error.type': outcome === 'sent' ? undefined : outcome });
      metrics.alerts.inc({ channel: provider.providerType, outcome });
      await this.#withDatabase((query) => query(mark));
    });
  }

  /** Sends an alert. Returns the statement that records the outcome. */
  async #deliver(alert: LeasedAlert, provider: Provider): Promise<{ outcome: (typeof outcomes)[number]; mark: Statement }> {
    const { channels, cipher, log } = this.#deps;
    const channel = channelOf(channels, provider.providerType);
    try {
      await channel.send(decryptSettings(channel, provider, cipher), this.#messageOf(alert));
      return { outcome: 'sent', mark: markSent(alert) };
    } catch (error) {
      const reason = error instanceof DeliveryFailed ? error.message : 'an internal error';
      const givesUp = (error instanceof DeliveryFailed && error.permanent) || alert.ageSeconds > giveUpSeconds;
      const settings = error instanceof DeliveryFailed ? error.settings : [];
      const details = { err: error instanceof DeliveryFailed ? undefined : error, alert_id: alert.id, reason };
      if (settings.length > 0) log.error({ ...details, settings }, 'Alerts cannot be delivered until these settings are corrected');
      else log.warn(details, givesUp ? 'Alert delivery failed permanently' : 'Alert delivery failed; it will be retried');
      if (givesUp) return { outcome: 'failed', mark: markEnded({ ...alert, status: 'failed', reason }) };
      const outcome = settings.length > 0 ? 'misconfigured' : 'retried';
      return { outcome, mark: postpone({ ...alert, reason, seconds: retryDelaySeconds(alert.attempts, error) }) };
    }
  }

  #messageOf({ event, userId, downId, downCreatedAt, ...alert }: LeasedAlert): Message {
    const continues =
      downId !== null && downCreatedAt ? messageIdOf({ id: downId, createdAt: downCreatedAt }, this.#installationId) : undefined;
    return { id: messageIdOf(alert, this.#installationId), continues, userId, event, content: contentOf(event) };
  }

  /** Begins an attempt. There is no provider if the alert was deleted or canceled, or is leased to another process. */
  async #admit(query: Query, alert: LeasedAlert): Promise<{ provider?: Provider; reached?: ReachedLimit | undefined }> {
    const [[leased], [provider]] = await query(lockLeased(alert), selectProvider({ id: alert.providerId }));
    if (!leased || !provider) {
      await query(endCanceledLease(alert));
      return {};
    }
    if (alert.endsCanceledAlert) {
      await query(markEnded({ ...alert, status: 'suppressed', reason: canceledError }));
      return {};
    }
    const channel = channelOf(this.#deps.channels, alert.channel);
    const reached = alert.isCounted ? undefined : await countMessage(query, { ...alert, channel, isExempt: alert.endsSentAlert });
    if (reached) await query(markEnded({ ...alert, status: 'suppressed', reason: `the limit of ${reached.limit} is reached` }));
    else await query(beginAttempt(alert));
    return { provider, reached };
  }

  /** Waits for a lost database: an alert that was sent but not recorded would be sent twice. The lease token
   * shows whether this process still holds the lease. */
  async #withDatabase<T>(work: (query: Query) => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await this.#transaction(work);
      } catch (error) {
        if (!(error instanceof RetryLaterError) || this.#loop.isStopped) throw error;
        await delay(retryMs);
      }
    }
  }

  #transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.#deps.database.engineTransaction(work);
  }
}

/** Exponential backoff from 1 s to 15 min with 25 % jitter, but never shorter than the receiver's Retry-After. */
export function retryDelaySeconds(attempts: number, error: unknown, random = Math.random()): number {
  const backoff = Math.min(maxDelaySeconds, 2 ** Math.min(attempts - 1, 20));
  const requested = error instanceof DeliveryFailed ? (error.retryAfterSeconds ?? 0) : 0;
  return Math.max(requested, backoff * (0.75 + random / 2));
}
