import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { SecretCipher } from '../../auth/secret-cipher.ts';
import type { Database } from '../../db/database.ts';
import { prepareSelect } from '../../db/rows.ts';
import type { Query } from '../../db/statement.ts';
import { RetryLaterError } from '../../errors.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { asTrace, type Tracer } from '../../telemetry/tracing.ts';
import { type Channel, DeliveryFailed, type Message } from '../channels/channel.ts';
import { type Channels, channelOf } from '../channels/registry.ts';
import { contentOf } from '../messages/content.ts';
import type { StoredEvent } from '../messages/event.ts';
import { groupContent, maxListed } from '../messages/group-content.ts';
import { type Provider, ProviderEntity } from '../providers/provider.entity.ts';
import { decryptSettings } from '../providers/provider.settings.ts';
import { signingOf } from '../providers/signing-secret.ts';
import { unwantedReason } from '../recipients/unwanted.ts';
import type { LeasedAlert } from './due-alerts.ts';
import { beginAttempt, endCanceledLeases, leasesOf, lockLeased, markEnded, markSent, postpone, selectEvents } from './leases.ts';
import { groupIdOf, messageIdOf, readInstallationId, topicOf } from './message-id.ts';
import { countMessage, type ReachedLimit } from './message-limits.ts';
import { isNotice, queueSuppressedNotice } from './notices.ts';
import { canceledError } from './outbox.ts';
import { hasFailed, pauseSeconds, recordFailure, recordSuccess, retryNow } from './provider-state.ts';

export interface SenderDeps {
  database: Pick<Database, 'engineTransaction'>;
  channels: Channels;
  cipher: SecretCipher;
  log: Logger;
  metrics: Pick<Metrics, 'alerts'>;
  tracer?: Tracer | undefined;
  isStopped(): boolean;
}

/** Alerts of one message. */
interface Batch {
  alerts: LeasedAlert[];
  provider: Provider;
}

/** A message whose attempt begins. */
interface Attempt extends Batch {
  channel: Channel;
  message: Message;
  /** When it begins. */
  at: Date;
}

/** A message that is not sent: a limit is reached, or the recipient does not want it yet. */
interface Suppressed extends Batch {
  suppressedBy: ReachedLimit | 'recipient';
}

export const outcomes = ['sent', 'retried', 'misconfigured', 'failed', 'suppressed'] as const;
const retryMs = 250;
const giveUpSeconds = 24 * 3600;
const maxDelaySeconds = 15 * 60;

const selectProvider = prepareSelect(ProviderEntity);

/** Sends leased alerts and records what has become of them. */
export class AlertSender {
  readonly #deps: SenderDeps;
  #installationId = '';

  constructor(deps: SenderDeps) {
    this.#deps = deps;
  }

  /** Sends one message about these alerts of a provider. Returns whether the provider takes another one at once. */
  async send(alerts: LeasedAlert[], onAttempt: () => void): Promise<boolean> {
    const attempt = await this.#withDatabase((query) => this.#admit(query, alerts));
    if (!attempt || this.#deps.isStopped()) return true;
    if ('suppressedBy' in attempt) {
      this.#reportSuppressed(attempt);
      return true;
    }
    onAttempt();
    const { provider } = attempt;
    const attributes = { 'sitekeeper.alert_id': attempt.alerts[0]?.id, 'sitekeeper.alerts': attempt.alerts.length };
    return asTrace(this.#deps.tracer, `alert ${provider.providerType}`, attributes, async (addAttributes) => {
      const failure = await this.#deliver(attempt);
      const outcome = failure ? 'failed' : 'sent';
      addAttributes({ 'sitekeeper.outcome': outcome, 'error.type': failure ? outcome : undefined });
      return failure ? this.#recordFailure(attempt, failure) : this.#recordSuccess(attempt);
    });
  }

  /** Begins an attempt, unless the alerts were deleted or canceled, are leased to another process, or exceed a limit. */
  async #admit(query: Query, leased: LeasedAlert[]): Promise<Attempt | Suppressed | undefined> {
    const [{ providerId, userId, channel: type }] = leased as [LeasedAlert];
    this.#installationId ||= await readInstallationId(query);
    const [[provider], held] = await query(selectProvider({ id: providerId }), lockLeased(leasesOf(leased)));
    const [locked, gone] = split(leased, ({ id }) => held.some((row) => row.id === id));
    const [canceled, alerts] = split(locked, ({ endsCanceledAlert }) => endsCanceledAlert);
    if (gone.length > 0) await query(endCanceledLeases(leasesOf(gone)));
    if (canceled.length > 0) await query(markEnded({ ...leasesOf(canceled), status: 'suppressed', reason: canceledError }));
    if (!provider || !held[0] || alerts.length === 0) return undefined;
    const unwanted = await unwantedReason(query, provider, alerts);
    if (unwanted !== undefined) {
      await query(markEnded({ ...leasesOf(alerts), status: 'suppressed', reason: unwanted }));
      return { alerts, provider, suppressedBy: 'recipient' };
    }
    const channel = channelOf(this.#deps.channels, type);
    const isExempt = alerts.some(({ endsSentAlert, kind }) => endsSentAlert || isNotice(kind));
    const isCounted = alerts.some((alert) => alert.isCounted);
    const reached = isCounted ? undefined : await countMessage(query, { userId, providerId, channel, isExempt });
    if (reached) {
      await query(markEnded({ ...leasesOf(alerts), status: 'suppressed', reason: `the limit of ${reached.limit} is reached` }));
      await queueSuppressedNotice(query, provider, reached, held[0].now);
      return { alerts, provider, suppressedBy: reached };
    }
    const described = alerts.slice(0, maxListed).map(({ id }) => id);
    const [, rows] = await query(beginAttempt(leasesOf(alerts)), selectEvents({ ids: described }));
    const events = new Map(rows.map(({ id, event }) => [id, event]));
    return { alerts, provider, channel, message: this.#messageAbout(alerts, events), at: held[0].now };
  }

  #messageAbout(alerts: LeasedAlert[], events: ReadonlyMap<number, StoredEvent>): Message {
    const [first] = alerts as [LeasedAlert];
    const event = events.get(first.id) as StoredEvent;
    const { userId, downId, downCreatedAt } = first;
    if (alerts.length === 1) {
      const down = downId !== null && downCreatedAt ? { id: downId, createdAt: downCreatedAt } : undefined;
      const continues = down && messageIdOf(down, this.#installationId);
      const [id, topic] = [messageIdOf(first, this.#installationId), topicOf(event, this.#installationId)];
      return { id, topic, continues, userId, event, content: contentOf(event) };
    }
    const content = groupContent(alerts.map(({ id, kind, monitorId }) => ({ type: kind, monitorId, event: events.get(id) ?? null })));
    const id = groupIdOf(alerts, this.#installationId);
    return { id, topic: id, userId, event, content };
  }

  /** Returns what has gone wrong, if anything has. */
  async #deliver({ provider, channel, message, at }: Attempt): Promise<{ error: unknown } | undefined> {
    try {
      const { cipher } = this.#deps;
      await channel.send(decryptSettings(channel, provider, cipher), message, signingOf(provider, cipher, at));
      return undefined;
    } catch (error) {
      return { error };
    }
  }

  async #recordSuccess({ alerts, provider, channel }: Attempt): Promise<boolean> {
    this.#count(alerts, provider, 'sent');
    const { id, userId } = provider;
    const state = recordSuccess({ id, audience: channel.audience });
    const retried = hasFailed(provider) ? [retryNow({ userId, providerId: id })] : [];
    const [[recorded]] = await this.#withDatabase((query) => query(state, markSent(leasesOf(alerts)), ...retried));
    return !recorded?.mustWait;
  }

  async #recordFailure({ alerts, provider }: Attempt, { error }: { error: unknown }): Promise<boolean> {
    const { permanent, retryAfterSeconds, settings, reason } = describe(error);
    const [lost, kept] = split(alerts, ({ ageSeconds }) => permanent || ageSeconds > giveUpSeconds);
    const details = { err: error instanceof DeliveryFailed ? undefined : error, alert_id: alerts[0]?.id, alerts: alerts.length, reason };
    const { log } = this.#deps;
    if (settings.length > 0) log.error({ ...details, settings }, 'Alerts cannot be delivered until these settings are corrected');
    else log.warn(details, lost.length > 0 ? 'Alert delivery failed permanently' : 'Alert delivery failed; it will be retried');
    this.#count(lost, provider, 'failed');
    this.#count(kept, provider, settings.length > 0 ? 'misconfigured' : 'retried');
    const pause = permanent ? 0 : pauseSeconds(provider.failedAttempts, retryAfterSeconds);
    const seconds = retryDelaySeconds(Math.min(...kept.map(({ attempts }) => attempts)), retryAfterSeconds);
    await this.#withDatabase((query) =>
      query(
        recordFailure({ id: provider.id, reason, pauseSeconds: pause }),
        markEnded({ ...leasesOf(lost), status: 'failed', reason }),
        postpone({ ...leasesOf(kept), reason, seconds }),
      ),
    );
    return permanent;
  }

  #reportSuppressed({ alerts, provider, suppressedBy }: Suppressed) {
    this.#count(alerts, provider, 'suppressed');
    if (suppressedBy === 'recipient') return;
    const details = { alert_id: alerts[0]?.id, alerts: alerts.length, user_id: provider.userId, provider_id: provider.id };
    this.#deps.log.warn({ ...details, limit: suppressedBy.limit }, 'Alert suppressed by a limit');
  }

  #count({ length }: LeasedAlert[], { providerType }: Provider, outcome: (typeof outcomes)[number]) {
    if (length > 0) this.#deps.metrics.alerts.inc({ channel: providerType, outcome }, length);
  }

  /** Waits for a lost database: an alert that was sent but not recorded would be sent twice. The lease token
   * shows whether this process still holds the lease. */
  async #withDatabase<T>(work: (query: Query) => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await this.#deps.database.engineTransaction(work);
      } catch (error) {
        if (!(error instanceof RetryLaterError) || this.#deps.isStopped()) throw error;
        await delay(retryMs);
      }
    }
  }
}

/** Splits a list into the items that meet a condition, and the others. */
function split<T>(items: readonly T[], condition: (item: T) => boolean): [T[], T[]] {
  return [items.filter(condition), items.filter((item) => !condition(item))];
}

/** Says what the user and the operator may know about an error. */
function describe(error: unknown): Pick<DeliveryFailed, 'permanent' | 'retryAfterSeconds' | 'settings'> & { reason: string } {
  if (!(error instanceof DeliveryFailed))
    return { permanent: false, retryAfterSeconds: undefined, settings: [], reason: 'an internal error' };
  const { permanent, retryAfterSeconds, settings, message } = error;
  return { permanent, retryAfterSeconds, settings, reason: message };
}

/** Exponential backoff from 1 s to 15 min with 25 % jitter, but never shorter than the receiver's Retry-After. */
export function retryDelaySeconds(attempts: number, requestedSeconds = 0, random = Math.random()): number {
  const backoff = Math.min(maxDelaySeconds, 2 ** Math.min(attempts - 1, 20));
  return Math.max(requestedSeconds, backoff * (0.75 + random / 2));
}
