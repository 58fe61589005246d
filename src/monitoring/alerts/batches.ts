import type { Channel } from '../channels/channel.ts';
import { byImportance, canBeGrouped } from '../messages/group-content.ts';
import type { LeasedAlert } from './lease-alerts.ts';

/** People get one message about more alerts than this. */
const maxSingle = 5;

/** How many alerts of a provider are leased together. Those for programs are sent one after the other. */
export const alertsPerLease = { people: 250, programs: 10 };

/** Splits alerts of one provider into messages, in the order in which they are sent. The worst comes first in a message about several. */
export function batchesOf(alerts: readonly LeasedAlert[], { audience }: Pick<Channel, 'audience'>): LeasedAlert[][] {
  const grouped = audience === 'people' ? alerts.filter(({ kind }) => canBeGrouped(kind)) : [];
  if (grouped.length <= maxSingle) return alerts.map((alert) => [alert]);
  const group = grouped.toSorted((a, b) => byImportance({ type: a.kind }, { type: b.kind }));
  return [group, ...alerts.filter((alert) => !group.includes(alert)).map((alert) => [alert])];
}
