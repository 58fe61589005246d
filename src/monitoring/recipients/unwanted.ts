import type { Query } from '../../db/statement.ts';
import type { LeasedAlert } from '../alerts/lease-alerts.ts';
import { selectEvents } from '../alerts/leases.ts';
import type { Provider } from '../providers/provider.entity.ts';
import { addressOf } from './recipients.ts';

/** Returns why the recipient must not get these alerts, if so. Until the address is confirmed, only the link to do so is sent. */
export async function unwantedReason(query: Query, provider: Provider, alerts: readonly LeasedAlert[]): Promise<string | undefined> {
  const link = alerts.find(({ kind }) => kind === 'recipient.confirmation');
  if (!link) return provider.recipientUnconfirmed ? 'not sent: the recipient has not confirmed the address yet' : undefined;
  if (!provider.recipientUnconfirmed) return 'not sent: the recipient has confirmed the address already';
  const [[row]] = await query(selectEvents({ ids: [link.id] }));
  // Whoever reads mail at the new address could confirm the old one with the link.
  const isForAddress = row?.event.type === 'recipient.confirmation' && row.event.data.recipient === addressOf(provider.settings);
  return isForAddress ? undefined : 'not sent: the provider has another address now';
}
