import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Vault } from '../../access/vault.ts';
import type { Database, Work } from '../../db/database.ts';
import { TryLater } from '../../errors.ts';
import type { Metrics } from '../../metrics.ts';
import { inTrace, type Tracer } from '../../trace.ts';
import { DeliveryFailed } from '../channels/channel.ts';
import type { Channels } from '../channels/channels.ts';
import { deliver } from '../providers/deliver.ts';
import { ProviderEntity, type ProviderType } from '../providers/provider.entity.ts';
import { isStillLeased, type LeasedAlert, leaseAlerts, markFailed, markSent, postpone, releaseAlerts } from './outbox.ts';

interface DispatcherParts {
  database: Database;
  channels: Channels;
  vault: Vault;
  log: Logger;
  metrics: Pick<Metrics, 'alerts'>;
  tracer?: Tracer | undefined;
}

const outcomes = ['sent', 'retried', 'failed'] as const;
const tickMs = 250;
/** Of each channel, so that one whose servers hang holds up only itself. */
const atOnce = 50;
const giveUpSeconds = 24 * 3600;
const longestPauseSeconds = 15 * 60;
/** How long an attempt that is under way may still take when we are told to stop. */
const stopMs = 4000;

/** Sends the alerts that are laid down, again and again until they are taken or 24 hours are over. */
export class Dispatcher {
  readonly #parts: DispatcherParts;
  /** One at a time for each provider: a slow one holds up only itself. */
  readonly #busy = new Map<number, { channel: ProviderType; work: Promise<void> }>();
  /** Taken, and not done with. */
  readonly #leased = new Set<LeasedAlert>();
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
  }

  start() {
    // A counter that first shows up as 1 has not risen, as Prometheus sees it: the first alert given up would go unnoticed.
    for (const channel of Object.keys(this.#parts.channels)) {
      for (const outcome of outcomes) this.#parts.metrics.alerts.inc({ channel, outcome }, 0);
    }
    this.#goOn();
  }

  #goOn() {
    this.#turn = this.#tick().then(() => {
      if (!this.#stopped) this.#timer = setTimeout(() => this.#goOn(), tickMs);
    });
  }

  /** Finishes what is being sent, unless that takes long, and gives the rest back at once. */
  async stop() {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#turn;
    await Promise.race([Promise.all([...this.#busy.values()].map(({ work }) => work)), pause(stopMs, undefined, { ref: false })]);
    if (this.#leased.size > 0) await this.#parts.database.asEngine((em) => releaseAlerts(em, [...this.#leased]));
  }

  async #tick() {
    const room = this.#room();
    const busyProviders = [...this.#busy.keys()];
    try {
      const leased = await this.#parts.database.asEngine((em) => leaseAlerts(em, { room, busyProviders }));
      for (const alert of leased) this.#leased.add(alert);
      for (const [providerId, alerts] of Map.groupBy(leased, (alert) => alert.providerId)) {
        const [{ channel }] = alerts as [LeasedAlert];
        const work = this.#sendInTurn(alerts).finally(() => this.#busy.delete(providerId));
        this.#busy.set(providerId, { channel, work });
      }
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'Alerts could not be read; they are tried again');
    }
  }

  #room(): Map<ProviderType, number> {
    const channels = Object.keys(this.#parts.channels) as ProviderType[];
    const room = new Map(channels.map((channel) => [channel, atOnce]));
    for (const { channel } of this.#busy.values()) room.set(channel, (room.get(channel) ?? 0) - 1);
    return room;
  }

  async #sendInTurn(alerts: LeasedAlert[]) {
    for (const alert of alerts) {
      if (this.#stopped) return;
      await this.#send(alert).catch((error: unknown) =>
        this.#parts.log.warn({ err: error, alert_id: alert.id }, 'An alert could not be marked; it is sent again'),
      );
      this.#leased.delete(alert);
    }
  }

  async #send(alert: LeasedAlert) {
    const { channels, vault, log, metrics, tracer } = this.#parts;
    const provider = await this.#whenReachable(async (em) =>
      (await isStillLeased(em, alert)) ? em.findOne(ProviderEntity, { id: alert.providerId }) : null,
    );
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
      await inTrace(span?.context, () => deliver(provider, message, channels, vault));
      count('sent');
      mark = (em) => markSent(em, alert);
    } catch (error) {
      const reason = error instanceof DeliveryFailed ? error.message : 'a fault on our side';
      const givesUp = (error instanceof DeliveryFailed && error.permanent) || alert.ageSeconds > giveUpSeconds;
      count(givesUp ? 'failed' : 'retried');
      log.warn(
        { err: error instanceof DeliveryFailed ? undefined : error, alert_id: alert.id, reason },
        givesUp ? 'An alert was given up' : 'An alert is tried again',
      );
      mark = givesUp ? (em) => markFailed(em, alert, reason) : (em) => postpone(em, alert, reason, pauseSeconds(alert.attempts, error));
    }
    await this.#whenReachable(mark);
  }

  /** What is under way waits for a lost database rather than being sent twice. The lease says whether it is still ours. */
  async #whenReachable<T>(work: Work<T>): Promise<T> {
    for (;;) {
      try {
        return await this.#parts.database.asEngine(work);
      } catch (error) {
        if (!(error instanceof TryLater) || this.#stopped) throw error;
        await pause(tickMs);
      }
    }
  }
}

/** 1 s, 2 s, 4 s … 15 min, give or take a quarter; never sooner than the other side asks for. */
export function pauseSeconds(attempts: number, error: unknown, random = Math.random()): number {
  const grown = Math.min(longestPauseSeconds, 2 ** Math.min(attempts - 1, 20));
  const asked = error instanceof DeliveryFailed ? (error.retryAfterSeconds ?? 0) : 0;
  return Math.max(asked, grown * (0.75 + random / 2));
}
