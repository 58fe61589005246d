import { prepareSelect } from '../../db/rows.ts';
import type { Query } from '../../db/statement.ts';
import type { Channel } from '../channels/channel.ts';
import { type Provider, ProviderEntity } from '../providers/provider.entity.ts';
import { unwantedReason } from '../recipients/unwanted.ts';
import type { LeasedAlert } from './lease-alerts.ts';
import { endCanceledLeases, leasesOf, lockLeased, markEnded, markExpired, releaseWaiting } from './leases.ts';
import { countMessage, limitReason, type ReachedLimit } from './message-limits.ts';
import { isLimitedOtherwise, queueSuppressedNotice } from './notices.ts';
import { collectMessages, selectPause } from './provider-state.ts';

/** Which of the alerts of one message are sent. The operator sees the others in the log and the metrics. */
export interface Admission {
  provider: Provider;
  admitted: LeasedAlert[];
  /** They are too old. */
  expired: LeasedAlert[];
  /** They exceed a limit. */
  suppressed: LeasedAlert[];
  limit: string | undefined;
  now: Date;
}

const giveUpSeconds = 24 * 3600;
/** Beyond a limit, the recoveries of so many seconds are one message. */
const collectSeconds = 10 * 60;

const selectProvider = prepareSelect(ProviderEntity);

/**
 * Decides which of these alerts of one provider are sent. They may have been deleted or canceled since they were leased, or leased to
 * another process. Returns undefined if the provider is gone, or gets no message for now.
 */
export async function admit(query: Query, leased: LeasedAlert[], channel: Channel): Promise<Admission | undefined> {
  const [{ providerId: id }] = leased as [LeasedAlert];
  const [[provider], [pause], held] = await query(selectProvider({ id }), selectPause({ id }), lockLeased(leasesOf(leased)));
  const [locked, gone] = split(leased, (alert) => held.some((row) => row.id === alert.id));
  if (gone.length > 0) await query(endCanceledLeases(leasesOf(gone)));
  const [first] = held;
  if (!provider || !first) return undefined;
  if (pause) {
    // Another process has been told to wait.
    await query(releaseWaiting(leasesOf(locked)));
    return undefined;
  }
  const suppress = async (alerts: LeasedAlert[], reason: string) => {
    if (alerts.length > 0) await query(markEnded({ ...leasesOf(alerts), status: 'suppressed', reason }));
  };
  const [pointless, pointed] = split(locked, ({ pointlessReason }) => pointlessReason !== null);
  for (const [reason, alerts] of Map.groupBy(pointless, ({ pointlessReason }) => pointlessReason as string)) await suppress(alerts, reason);
  const [expired, young] = split(pointed, ({ ageSeconds }) => ageSeconds > giveUpSeconds);
  if (expired.length > 0) await query(markExpired(leasesOf(expired)));
  const unwanted = await unwantedReason(query, provider, young);
  if (unwanted !== undefined) await suppress(young, unwanted);
  const wanted = unwanted === undefined ? young : [];
  const { reached, exceeded } = await countIfNew(query, wanted, channel);
  const [admitted, suppressed] = split(wanted, (alert) => !reached || alert.isCounted || (!exceeded && isExempt(alert)));
  if (reached) {
    await suppress(suppressed, `${limitReason} ${reached.limit} is reached`);
    // The notice is sent at once.
    const isNoticed = await queueSuppressedNotice(query, provider, reached, first.now);
    const isCollecting = channel.audience === 'people' && admitted.some(({ endsSentAlert }) => endsSentAlert);
    if (isCollecting && !isNoticed) await query(collectMessages({ id, seconds: Math.min(collectSeconds, reached.secondsLeft) }));
  }
  return { provider, admitted, expired, suppressed, limit: reached?.limit, now: first.now };
}

interface Counted {
  /** A limit is reached: only the exempt ones are sent. */
  reached?: ReachedLimit | undefined;
  /** The limit of those is reached as well. */
  exceeded?: ReachedLimit | undefined;
}

/** Counts a message with alerts that were not counted before. */
async function countIfNew(query: Query, alerts: LeasedAlert[], channel: Channel): Promise<Counted> {
  const uncounted = alerts.filter(({ isCounted }) => !isCounted);
  const [first] = uncounted;
  if (!first) return {};
  const message = { userId: first.userId, providerId: first.providerId, channel };
  const reached = await countMessage(query, message);
  const exceeded = reached && uncounted.some(isExempt) ? await countMessage(query, { ...message, isExempt: true }) : reached;
  return { reached, exceeded };
}

/** The end of what was told is told beyond a limit. */
function isExempt({ endsSentAlert, kind, isRepeated }: LeasedAlert): boolean {
  return endsSentAlert || (isLimitedOtherwise(kind) && !isRepeated);
}

/** Splits a list into the items that meet a condition, and the others. */
function split<T>(items: readonly T[], condition: (item: T) => boolean): [T[], T[]] {
  return [items.filter(condition), items.filter((item) => !condition(item))];
}
