import { sql } from 'kysely';
import { prepareSelect } from '../../db/rows.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import { ProviderEntity } from '../providers/provider.entity.ts';
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

/** Assigns a provider to monitors, and enables it where it is disabled. Returns how many changed, or undefined if there is no such provider. */
export function assignProvider(query: Query, assignment: BulkAssignment): Promise<number | undefined> {
  return ifExists(query, assignment, assign);
}

/** Removes a provider from monitors. Returns how many changed, or undefined if there is no such provider. */
export function unassignProvider(query: Query, assignment: BulkAssignment): Promise<number | undefined> {
  return ifExists(query, assignment, unassign);
}

async function ifExists(query: Query, assignment: BulkAssignment, statement: typeof assign): Promise<number | undefined> {
  const [[provider]] = await query(selectProvider({ id: assignment.providerId }));
  if (!provider) return undefined;
  const [changed] = await query(statement(assignment));
  return changed.length;
}
