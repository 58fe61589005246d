import { setTimeout as delay } from 'node:timers/promises';
import type { SqlEntityManager } from '@mikro-orm/sql';
import type { Logger } from 'pino';
import type { SecretCipher } from '../../auth/secret-cipher.ts';
import type { Database, Work } from '../../db/database.ts';
import { RetryLaterError } from '../../errors.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { inTrace, type Tracer } from '../../telemetry/tracing.ts';
import { DeliveryFailed } from '../channels/channel.ts';
import type { Channels } from '../channels/channels.ts';
import { countMessage, type ReachedCap } from '../message-caps.ts';
import { deliver } from '../providers/deliver.ts';
import { type Provider, ProviderEntity, type ProviderType } from '../providers/provider.entity.ts';
import { chooseProviders } from './choose-providers.ts';
import {
  findWaitingProviders,
  isStillLeased,
  type LeasedAlert,
  leaseAlerts,
  markCounted,
  markFailed,
  markSent,
  postpone,
  releaseAlerts,
} from './outbox.ts';

interface DispatcherDeps {
  database: Database;
  channels: Channels;
  cipher: SecretCipher;
  log: Logger;
  metrics: Pick<Metrics, 'alerts'>;
  smsPerUserPerDay: number;
  tracer?: Tracer | undefined;
}

const outcomes = ['sent', 'retried', 'failed', 'suppressed'] as const;
const pollMs = 250;
const giveUpSeconds = 24 * 3600;
const maxDelaySeconds = 15 * 60;
/** How long the shutdown waits for running attempts. */
const shutdownTimeoutMs = 4000;

/** Sends queued alerts, and retries each until it is accepted or 24 hours have passed. */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  /** Each provider gets one message at a time, so that a slow one delays only itself. */
  readonly #sending = new Map<number, { userId: number; channel: ProviderType; work: Promise<void> }>();
  /** Leased and not finished. */
  readonly #leased = new Set<LeasedAlert>();
  /** The user after whom the next iteration looks for due alerts. */
  #afterUserId = 0;
  #timer: NodeJS.Timeout | undefined;
  #iteration: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
  }

  start() {
    // Prometheus does not see an increase in a counter that first appears as 1, and would miss the first failed alert.
    for (const channel of Object.keys(this.#deps.channels)) {
      for (const outcome of outcomes) this.#deps.metrics.alerts.inc({ channel, outcome }, 0);
    }
    this.#scheduleIteration();
  }

  #scheduleIteration() {
    this.#iteration = this.#iterate().then(() => {
      if (!this.#stopped) this.#timer = setTimeout(() => this.#scheduleIteration(), pollMs);
    });
  }

  /** Waits for running attempts for a while, then releases the leases of all unfinished alerts. */
  async stop() {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#iteration;
    await Promise.race([
      Promise.all([...this.#sending.values()].map(({ work }) => work)),
      delay(shutdownTimeoutMs, undefined, { ref: false }),
    ]);
    if (this.#leased.size > 0) await this.#deps.database.asEngine((em) => releaseAlerts(em, [...this.#leased]));
  }

  async #iterate() {
    const request = { busyProviders: [...this.#sending.keys()], afterUserId: this.#afterUserId };
    try {
      const leased = await this.#deps.database.asEngine(async (em) => {
        const { providers, continueAfter } = await findWaitingProviders(em, request);
        this.#afterUserId = continueAfter;
        return leaseAlerts(em, chooseProviders(providers, [...this.#sending.values()]));
      });
      for (const alert of leased) this.#leased.add(alert);
      for (const [providerId, alerts] of Map.groupBy(leased, (alert) => alert.providerId)) {
        const [{ userId, channel }] = alerts as [LeasedAlert];
        const work = this.#sendInOrder(alerts).finally(() => this.#sending.delete(providerId));
        this.#sending.set(providerId, { userId, channel, work });
      }
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'Reading due alerts failed; it will be retried');
    }
  }

  async #sendInOrder(alerts: LeasedAlert[]) {
    for (const alert of alerts) {
      if (this.#stopped) return;
      await this.#send(alert).catch((error: unknown) =>
        this.#deps.log.warn({ err: error, alert_id: alert.id }, 'Could not record that an alert was sent; it may be sent again'),
      );
      this.#leased.delete(alert);
    }
  }

  async #send(alert: LeasedAlert) {
    const { channels, cipher, log, metrics, tracer } = this.#deps;
    const { provider, reached } = await this.#withDatabase((em) => this.#admit(em, alert));
    if (reached) {
      const { id, userId, providerId, channel } = alert;
      metrics.alerts.inc({ channel, outcome: 'suppressed' });
      log.warn({ alert_id: id, user_id: userId, provider_id: providerId, limit: reached.cap }, 'Alert suppressed by a limit');
      return;
    }
    if (!provider) return;
    const { providerType: channel } = provider;
    const message = { id: `alert-${alert.id}`, subject: alert.subject, text: alert.body };
    const span = tracer?.start(`alert ${channel}`, { kind: 'client' });
    const count = (outcome: (typeof outcomes)[number]) => {
      metrics.alerts.inc({ channel, outcome });
      span?.end({ failed: outcome !== 'sent', attributes: { alert_id: alert.id, outcome } });
    };
    let mark: Work<void>;
    try {
      await inTrace(span?.context, () => deliver(provider, message, channels, cipher));
      count('sent');
      mark = (em) => markSent(em, alert);
    } catch (error) {
      const reason = error instanceof DeliveryFailed ? error.message : 'an internal error';
      const givesUp = (error instanceof DeliveryFailed && error.permanent) || alert.ageSeconds > giveUpSeconds;
      count(givesUp ? 'failed' : 'retried');
      log.warn(
        { err: error instanceof DeliveryFailed ? undefined : error, alert_id: alert.id, reason },
        givesUp ? 'Alert delivery failed permanently' : 'Alert delivery failed; it will be retried',
      );
      mark = givesUp
        ? (em) => markFailed(em, alert, reason)
        : (em) => postpone(em, alert, reason, retryDelaySeconds(alert.attempts, error));
    }
    await this.#withDatabase(mark);
  }

  /** Counts the alert before its first attempt. There is no provider if the alert was deleted or is leased to another process. */
  async #admit(em: SqlEntityManager, alert: LeasedAlert): Promise<{ provider: Provider | null; reached?: ReachedCap }> {
    const provider = (await isStillLeased(em, alert)) ? await em.findOne(ProviderEntity, { id: alert.providerId }) : null;
    if (!provider || alert.isCounted) return { provider };
    const reached = await countMessage(em, {
      ...alert,
      smsPerUserPerDay: this.#deps.smsPerUserPerDay,
      isExempt: alert.endsSentAlert,
    });
    if (!reached) {
      await markCounted(em, alert);
      return { provider };
    }
    await markFailed(em, alert, `not sent: the limit of ${reached.cap} is reached`);
    return { provider, reached };
  }

  /** Waits for a lost database: an alert that was sent but not recorded would be sent twice. The lease token
   * shows whether this process still holds the lease. */
  async #withDatabase<T>(work: Work<T>): Promise<T> {
    for (;;) {
      try {
        return await this.#deps.database.asEngine(work);
      } catch (error) {
        if (!(error instanceof RetryLaterError) || this.#stopped) throw error;
        await delay(pollMs);
      }
    }
  }
}

/** Exponential backoff from 1 s to 15 min with 25 % jitter, but never shorter than the receiver's Retry-After. */
export function retryDelaySeconds(attempts: number, error: unknown, random = Math.random()): number {
  const backoff = Math.min(maxDelaySeconds, 2 ** Math.min(attempts - 1, 20));
  const requested = error instanceof DeliveryFailed ? (error.retryAfterSeconds ?? 0) : 0;
  return Math.max(requested, backoff * (0.75 + random / 2));
}
