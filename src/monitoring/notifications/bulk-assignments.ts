import { sql } from 'kysely';
import { prepareSelect } from '../../db/rows.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import { cancelUnassigned } from '../alerts/cancel-alerts.ts';
import { planReminders } from '../alerts/reminders.ts';
import { ProviderEntity } from '../providers/provider.entity.ts';
import { wakeDispatcher } from '../wake.ts';
import type { NotificationEntity } from './notification.entity.ts';

interface BulkAssignment {
  userId: number;
  /** The ids of the monitors. */
  ids: number[];
  providerId: number;
}

const db = tables<typeof NotificationEntity>();
const selectProvider = prepareSelect(ProviderEntity);

const assign = prepare(
  ({ userId, ids, providerId }: BulkAssignment) =>
    sql<{ monitor_id: number }>`insert into notifications (user_id, monitor_id, provider_id)
      select ${userId}::bigint, id, ${providerId}::bigint from unnest(${ids}::bigint[]) as id
      on conflict (user_id, monitor_id, provider_id) do update set enabled = true where not notifications.enabled
      returning monitor_id`,
);

const unassign = prepare(({ ids, providerId }: BulkAssignment) =>
  db
    .deleteFrom('notifications')
    .where('monitor_id', '=', sql<number>`any (${ids}::bigint[])`)
    .where('provider_id', '=', providerId)
    .returning('monitor_id'),
);

export async function hasProvider(query: Query, id: number): Promise<boolean> {
  return (await query(selectProvider({ id })))[0].length > 0;
}

/** Assigns a provider that exists to monitors, and enables it where it is disabled. Returns how many changed. */
export async function assignProvider(query: Query, assignment: BulkAssignment): Promise<number> {
  const [assigned] = await query(assign(assignment));
  // An assignment that is enabled again may have reminders of an open incident.
  if (assigned.length > 0) await query(planReminders({ monitorIds: assigned.map((row) => row.monitor_id) }), wakeDispatcher({}));
  return assigned.length;
}

/** Removes a provider from monitors. Returns how many changed. */
export async function unassignProvider(query: Query, assignment: BulkAssignment): Promise<number> {
  const [unassigned] = await query(unassign(assignment));
  const monitorIds = unassigned.map((row) => row.monitor_id);
  if (monitorIds.length > 0) await query(cancelUnassigned({ monitorIds, providerId: assignment.providerId }));
  return unassigned.length;
}
