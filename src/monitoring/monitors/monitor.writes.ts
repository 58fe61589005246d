import { sql } from 'kysely';
import { hasVersion, newVersion, prepareDelete, setGiven, type WriteCondition } from '../../db/rows.ts';
import { isGiven, prepare } from '../../db/statement.ts';
import { insertInto, tables, updateTable } from '../../db/tables.ts';
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
  graceSeconds: number | null;
  /** The options of the type, as JSON. */
  settings: string;
};

const anyOf = (ids: number[]) => sql<number>`any (${ids}::bigint[])`;

export const nextMonitorId = prepare(() => tables().selectNoFrom(sql<number>`nextval('monitors_id_seq')`.as('id')));

/** A monitor that is created or changed is checked within 5 seconds. A random delay spreads the load. A passive one waits for a period. */
function firstCheckAt(interval: unknown, grace: unknown) {
  return sql<Date>`app_now() + coalesce(${interval}::integer + ${grace}::integer, random() * 3) * interval '1 second'`;
}

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
    grace_seconds: given.graceSeconds,
    next_check_at: sql`case when ${given.isActive} then ${firstCheckAt(given.intervalSeconds, given.graceSeconds)} end`,
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
  'graceSeconds',
  'settings',
];

/** What the caller saw when it validated a new target. */
export interface SeenTarget {
  seenType: string;
  /** As JSON. */
  seenSettings: string;
  seenUrl: string | null;
}

/**
 * Updates a monitor if it has one of these versions, and the target that was seen. Otherwise it returns no row.
 *
 * If the target changes, or the monitor is paused or resumed, earlier results are no longer valid: the status is reset, the next
 * check is scheduled again, and a running one loses its claim. A maintenance ends the failures that have been counted, and a running
 * check loses its claim as well, because it could open an incident. `afterReset` must follow in the same transaction.
 */
export const updateMonitor = prepare((given: WriteCondition & Partial<SeenTarget & MonitorSettings>) =>
  update(given)
    .where('id', '=', given.id)
    .where(hasVersion(given.versions))
    .where(sql<boolean>`(type, settings) = (coalesce(${given.seenType}, type), coalesce(${given.seenSettings}::jsonb, settings))`)
    .where(sql<boolean>`(not ${isGiven(given.seenUrl)} or url is not distinct from ${given.seenUrl})`),
);

/** Updates those of these monitors that are not yet as given. What `updateMonitor` says applies here as well. */
export const updateMonitors = prepare((given: { ids: number[] } & Pick<Partial<MonitorSettings>, 'isActive' | 'maintenanceUntil'>) => {
  const changed = setGiven<Partial<MonitorSettings>>(MonitorEntity, given, changeable);
  return update(given)
    .where('id', '=', anyOf(given.ids))
    .where(
      sql<boolean>`(${changed.is_active}, ${ifInFuture(changed.maintenance_until)})
        is distinct from (is_active, ${ifInFuture(sql.ref('maintenance_until'))})`,
    );
});

/** A maintenance in the past is none. */
function ifInFuture(time: unknown) {
  return sql<Date | null>`case when ${time} > app_now() then ${time} end`;
}

function update(given: Partial<MonitorSettings>) {
  const changed = setGiven<Partial<MonitorSettings>>(MonitorEntity, given, changeable);
  const isOtherTarget = sql<boolean>`(${changed.url}, ${changed.type}) is distinct from (url, type)`;
  const isReset = sql<boolean>`(${isOtherTarget} or (${changed.settings}, ${changed.is_active}) is distinct from (settings, is_active))`;
  const startsMaintenance = sql<boolean>`(${changed.maintenance_until} > app_now() and maintenance_until > app_now() is not true)`;
  const isRescheduled = sql<boolean>`(${isReset} or ${changed.interval_seconds} <> interval_seconds or ${startsMaintenance})`;
  /** A passive monitor that is down has its next check when its maintenance ends. */
  const waitsForMaintenance = sql<boolean>`(not ${isReset} and is_active and status = 'down' and grace_seconds is not null
    and ${changed.maintenance_until} is distinct from maintenance_until)`;
  return updateTable(MonitorEntity).set({
    ...changed,
    settings: sql`${changed.settings}`, // JSON text becomes a value of the column's type.
    ...newVersion,
    status: sql`case when ${isReset} then ${statusAfterReset(changed.is_active)} else status end`,
    last_error: sql`case when ${isReset} then null else last_error end`,
    failures: sql`case when ${isReset} or ${startsMaintenance} then 0 else failures end`,
    tls_expires_at: sql`case when ${isOtherTarget} then null else tls_expires_at end`,
    tls_warnings: sql`case when ${isOtherTarget} then 0 else tls_warnings end`,
    tls_warned_expiry: sql`case when ${isOtherTarget} then null else tls_warned_expiry end`,
    tls_warned_at: sql`case when ${isOtherTarget} then null else tls_warned_at end`,
    state_version: sql`case when ${isReset} then state_version + 1 else state_version end`,
    next_check_at: sql`case when ${waitsForMaintenance} then greatest(${changed.maintenance_until}, app_now())
      when not ${isRescheduled} then next_check_at when ${changed.is_active} then ${firstCheckAt(changed.interval_seconds, changed.grace_seconds)} end`,
    claim_token: sql`case when ${isRescheduled} then null else claim_token end`,
  });
}

/** Schedules the next check for now, unless the monitor is paused. */
export const checkNow = prepare(({ id }: { id: number }) =>
  updateTable(MonitorEntity).set({ next_check_at: sql`app_now()` }).where('id', '=', id).where('is_active', '=', true),
);

export const deleteMonitor = prepareDelete(MonitorEntity);

export const deleteMonitors = prepare(({ ids }: { ids: number[] }) =>
  tables<typeof MonitorEntity>().deleteFrom('monitors').where('id', '=', anyOf(ids)).returning('id'),
);

/** Adds tags after those that a monitor has. */
export const addTags = prepare(({ ids, tags }: { ids: number[]; tags: string[] }) =>
  updateTable(MonitorEntity)
    .set({ tags: sql`tags || array(select tag from unnest(${tags}::text[]) as tag where tag <> all (tags))`, ...newVersion })
    .where('id', '=', anyOf(ids))
    .where(sql<boolean>`not tags @> ${tags}::text[]`),
);

export const removeTags = prepare(({ ids, tags }: { ids: number[]; tags: string[] }) =>
  updateTable(MonitorEntity)
    .set({
      tags: sql`array(select tag from unnest(tags) with ordinality as t (tag, position) where tag <> all (${tags}::text[]) order by position)`,
      ...newVersion,
    })
    .where('id', '=', anyOf(ids))
    .where(sql<boolean>`tags && ${tags}::text[]`),
);

function statusAfterReset(isActive: unknown) {
  return sql<'pending' | 'paused'>`case when ${isActive} then 'pending' else 'paused' end`;
}
