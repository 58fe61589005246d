import { sql } from 'kysely';
import { hasVersion, newVersion, prepareDelete, setGiven, type WriteCondition } from '../../db/rows.ts';
import { prepare } from '../../db/statement.ts';
import { insertInto, tables, updateTable } from '../../db/tables.ts';
import type { IncidentEntity } from '../incidents/incident.entity.ts';
import { type Monitor, MonitorEntity } from './monitor.entity.ts';

/** The columns that users can change, and those that follow from them. */
export type MonitorSettings = Pick<
  Monitor,
  | 'friendlyName'
  | 'url'
  | 'type'
  | 'intervalSeconds'
  | 'timeoutSeconds'
  | 'confirmations'
  | 'isActive'
  | 'tags'
  | 'websiteId'
  | 'maintenanceUntil'
> & {
  targetHost: string;
  /** The options of the type, as JSON. */
  settings: string;
};

export const nextMonitorId = prepare(() => tables().selectNoFrom(sql<number>`nextval('monitors_id_seq')`.as('id')));

/** A monitor that is created or changed is checked within 5 seconds. A random delay spreads the load. */
const soon = sql<Date>`app_now() + random() * interval '3 seconds'`;

/** Without an id, the next one is assigned. */
export const insertMonitor = prepare((given: { id: number | undefined; userId: number } & MonitorSettings) =>
  insertInto(MonitorEntity).values({
    id: sql`coalesce(${given.id}::bigint, nextval('monitors_id_seq'))`,
    user_id: given.userId,
    friendly_name: given.friendlyName,
    url: given.url,
    type: given.type,
    settings: sql`${given.settings}::jsonb`,
    interval_seconds: given.intervalSeconds,
    timeout_seconds: given.timeoutSeconds,
    confirmations: given.confirmations,
    is_active: given.isActive,
    tags: given.tags,
    website_id: given.websiteId,
    maintenance_until: given.maintenanceUntil,
    status: statusAfterReset(given.isActive),
    target_host: given.targetHost,
    next_check_at: sql`case when ${given.isActive} then ${soon} end`,
  }),
);

const changeable: (keyof MonitorSettings)[] = [
  'friendlyName',
  'url',
  'type',
  'intervalSeconds',
  'timeoutSeconds',
  'confirmations',
  'isActive',
  'tags',
  'websiteId',
  'maintenanceUntil',
  'targetHost',
  'settings',
];

/**
 * Updates a monitor if it has one of these versions. Otherwise it returns no row.
 *
 * If the target changes, or the monitor is paused or resumed, earlier results are no longer valid: the status is reset, the next
 * check is scheduled again, and a running one loses its claim. A maintenance ends the failures that have been counted, and a running
 * check loses its claim as well, because it could open an incident. `resolveAfterReset` and `cancelAfterReset` must follow in the same
 * transaction.
 */
export const updateMonitor = prepare((given: WriteCondition & Partial<MonitorSettings>) => {
  const changed = setGiven<Partial<MonitorSettings>>(MonitorEntity, given, changeable);
  const isReset = sql<boolean>`(${changed.url}, ${changed.type}, ${changed.settings}, ${changed.is_active})
    is distinct from (url, type, settings, is_active)`;
  const startsMaintenance = sql<boolean>`(${changed.maintenance_until} > app_now() and maintenance_until > app_now() is not true)`;
  const isRescheduled = sql<boolean>`(${isReset} or ${changed.interval_seconds} <> interval_seconds or ${startsMaintenance})`;
  return updateTable(MonitorEntity)
    .set({
      ...changed,
      settings: sql`${changed.settings}`, // JSON text becomes a value of the column's type.
      ...newVersion,
      status: sql`case when ${isReset} then ${statusAfterReset(changed.is_active)} else status end`,
      last_error: sql`case when ${isReset} then null else last_error end`,
      failures: sql`case when ${isReset} or ${startsMaintenance} then 0 else failures end`,
      state_version: sql`case when ${isReset} then state_version + 1 else state_version end`,
      next_check_at: sql`case when not ${isRescheduled} then next_check_at when ${changed.is_active} then ${soon} end`,
      claim_token: sql`case when ${isRescheduled} then null else claim_token end`,
    })
    .where('id', '=', given.id)
    .where(hasVersion(given.versions));
});

/** Whether the incidents of monitor `m` cannot be open: it was reset, or it is in maintenance. */
export const hasNoIncident = sql<boolean>`(m.status in ('pending', 'paused') or m.maintenance_until > app_now() is true)`;

/**
 * Resolves the open incident of a monitor that was reset or is in maintenance. It is a statement of its own after `updateMonitor`, because the update may
 * wait for the engine, which opens an incident in the meantime: only a later statement sees it.
 */
export const resolveAfterReset = prepare(({ id }: { id: number }) =>
  tables<typeof MonitorEntity | typeof IncidentEntity>()
    .updateTable('incidents')
    .set({ resolved_at: sql`greatest(app_now(), started_at)` })
    .where('monitor_id', '=', id)
    .where('resolved_at', 'is', null)
    .where(({ exists, selectFrom }) => exists(selectFrom('monitors as m').select('m.id').where('m.id', '=', id).where(hasNoIncident))),
);

/** Schedules the next check for now, unless the monitor is paused. */
export const checkNow = prepare(({ id }: { id: number }) =>
  updateTable(MonitorEntity).set({ next_check_at: sql`app_now()` }).where('id', '=', id).where('is_active', '=', true),
);

export const deleteMonitor = prepareDelete(MonitorEntity);

function statusAfterReset(isActive: unknown) {
  return sql<'pending' | 'paused'>`case when ${isActive} then 'pending' else 'paused' end`;
}
