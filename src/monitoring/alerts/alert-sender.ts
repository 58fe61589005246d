import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { SecretCipher } from '../../auth/secret-cipher.ts';
import type { Database } from '../../db/database.ts';
import type { Query } from '../../db/statement.ts';
import { RetryLaterError } from '../../errors.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { asTrace, type Tracer } from '../../telemetry/tracing.ts';
import { type Channel, DeliveryFailed, type Message } from '../channels/channel.ts';
import { type Channels, channelOf } from '../channels/registry.ts';
import { contentOf } from '../messages/content.ts';
import type { StoredEvent } from '../messages/event.ts';
import { groupContent, maxListed } from '../messages/group-content.ts';
import type { Provider } from '../providers/provider.entity.ts';
import { decryptSettings } from '../providers/provider.settings.ts';
import { signingOf } from '../providers/signing-secret.ts';
import { type Admission, admit } from './admission.ts';
import type { LeasedAlert } from './lease-alerts.ts';
import { beginAttempt, leasesOf, markEnded, markSent, postpone, selectEvents } from './leases.ts';
import { groupIdOf, messageIdOf, readInstallationId, topicOf } from './message-id.ts';
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

/** A message whose attempt begins. */
interface Attempt {
  alerts: LeasedAlert[];
  provider: Provider;
  channel: Channel;
  message: Message;
  /** When it begins. */
  at: Date;
}

interface Begun {
  admission: Admission;
  attempt?: Attempt;
}

export const outcomes = ['sent', 'retried', 'misconfigured', 'failed', 'suppressed'] as const;
const retryMs = 250;
const maxDelaySeconds = 15 * 60;

/** Sends leased alerts and records what has become of them. */
export class AlertSender {
  readonly #deps: SenderDeps;
  #installationId = '';

  constructor(deps: SenderDeps) {
    this.#deps = deps;
  }

  /** Sends one message about these alerts of a provider. Returns whether the provider takes another one at once. */
  async send(alerts: LeasedAlert[], onAttempt: () => void): Promise<boolean> {
    const begun = await this.#withDatabase((query) => this.#admit(query, alerts));
    if (!begun) return false;
    this.#reportDropped(begun.admission);
    const { attempt } = begun;
    if (!attempt || this.#deps.isStopped()) return true;
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

  /** Decides which of the alerts are sent, and begins the attempt. */
  async #admit(query: Query, leased: LeasedAlert[]): Promise<Begun | undefined> {
    this.#installationId ||= await readInstallationId(query);
    const channel = channelOf(this.#deps.channels, (leased[0] as LeasedAlert).channel);
    const admission = await admit(query, leased, channel);
    if (!admission) return undefined;
    const { provider, admitted: alerts, now: at } = admission;
    if (alerts.length === 0) return { admission };
    const described = alerts.slice(0, maxListed).map(({ id }) => id);
    const [, rows] = await query(beginAttempt(leasesOf(alerts)), selectEvents({ ids: described }));
    const events = new Map(rows.map(({ id, event }) => [id, event]));
    return { admission, attempt: { alerts, provider, channel, message: this.#messageAbout(alerts, events), at } };
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
    return this.#withDatabase(async (query) => {
      const [[recorded]] = await query(recordSuccess({ id, audience: channel.audience }), markSent(leasesOf(alerts)));
      if (hasFailed(provider)) await retryNow(query, { userId, providerId: id });
      return !recorded?.mustWait;
    });
  }

  async #recordFailure({ alerts, provider }: Attempt, { error }: { error: unknown }): Promise<boolean> {
    const { permanent, retryAfterSeconds, settings, reason } = describe(error);
    const [lost, kept] = permanent ? [alerts, []] : [[], alerts];
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

  #reportDropped({ provider, expired, suppressed, limit }: Admission) {
    this.#count(expired, provider, 'failed');
    this.#count(suppressed, provider, 'suppressed');
    const details = { user_id: provider.userId, provider_id: provider.id };
    const { log } = this.#deps;
    if (expired[0]) log.warn({ alert_id: expired[0].id, alerts: expired.length, ...details }, 'Alert not sent within 24 hours');
    if (suppressed[0])
      log.warn({ alert_id: suppressed[0].id, alerts: suppressed.length, ...details, limit }, 'Alert suppressed by a limit');
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
