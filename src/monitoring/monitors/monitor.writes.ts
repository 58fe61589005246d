import { type RawBuilder, sql } from 'kysely';
import { hasVersion, newVersion, setGiven, type WriteCondition } from '../../db/rows.ts';
import { isGiven, prepare, type Query, type Statement } from '../../db/statement.ts';
import { insertInto, tables, updateTable } from '../../db/tables.ts';
import { deleteAndQueueEnds, lockAlertsOf } from '../alerts/ends.ts';
import { observeChange } from '../statistics/observation.ts';
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

/** What the caller saw when it validated a new target, and the options among it that keep the status. */
export interface TargetChange {
  seenType: string;
  /** As JSON. */
  seenSettings: string;
  seenUrl: string | null;
  keepStatus: string[];
}

/**
 * Updates a monitor if it has one of these versions, and the target that was seen. Otherwise it returns no row.
 *
 * If the target changes, or the monitor is paused or resumed, earlier results are no longer valid: the status is reset, the next
 * check is scheduled again, and a running one loses its claim. The start and the end of a maintenance end the failures that have been
 * counted. A running check loses its claim as well, because it could open an incident, or count a failure from before. `afterReset` must
 * follow in the same transaction.
 */
export const updateMonitor = prepare((given: WriteCondition & Partial<TargetChange & MonitorSettings>) =>
  update(given)
    .where('id', '=', given.id)
    .where(hasVersion(given.versions))
    .where(sql<boolean>`(type, settings) = (coalesce(${given.seenType}, type), coalesce(${given.seenSettings}::jsonb, settings))`)
    .where(sql<boolean>`(not ${isGiven(given.seenUrl)} or url is not distinct from ${given.seenUrl})`),
);

/**
 * Updates those of these monitors that are not yet as given. What `updateMonitor` says applies here as well. The target is not part of
 * the statement, because reading and writing the options of a thousand monitors would take seconds.
 */
export const updateMonitors = prepare((given: { ids: number[] } & Pick<Partial<MonitorSettings>, 'isActive' | 'maintenanceUntil'>) => {
  const changed = setGiven<Pick<Partial<MonitorSettings>, 'isActive' | 'maintenanceUntil'>>(MonitorEntity, given, [
    'isActive',
    'maintenanceUntil',
  ]);
  const kept = { interval_seconds: sql.ref<number>('interval_seconds'), grace_seconds: sql.ref<number>('grace_seconds') };
  const no = sql<boolean>`false`;
  return tables<typeof MonitorEntity>()
    .updateTable('monitors')
    .set({ ...changed, ...effects({ ...changed, ...kept }, { isOtherTarget: no, isOtherServer: no, isOtherCheck: no, isOtherPeriod: no }) })
    .where('id', '=', anyOf(given.ids))
    .where(
      sql<boolean>`(${changed.is_active}, ${ifInFuture(changed.maintenance_until)})
        is distinct from (is_active, ${ifInFuture(sql.ref('maintenance_until'))})`,
    )
    .returning('id');
});

/** A maintenance in the past is none. */
function ifInFuture(time: unknown) {
  return sql<Date | null>`case when ${time} > app_now() then ${time} end`;
}

function update(given: Partial<MonitorSettings & Pick<TargetChange, 'keepStatus'>>) {
  const changed = setGiven<Partial<MonitorSettings>>(MonitorEntity, given, changeable);
  const isOtherTarget = sql<boolean>`(${changed.url}, ${changed.type}) is distinct from (url, type)`;
  // Two paths of a server have the same certificate.
  const isOtherServer = sql<boolean>`(${originOf(changed.url)}, ${changed.type}) is distinct from (${originOf(sql.ref('url'))}, type)`;
  // Long options are not read if none are given.
  const isOtherCheck = sql<boolean>`(${isGiven(given.settings)}
    and ${judgedBy(changed.settings, given.keepStatus)} is distinct from ${judgedBy(sql.ref('settings'), given.keepStatus)})`;
  const isOtherPeriod = sql<boolean>`(${changed.interval_seconds}, ${changed.grace_seconds}) is distinct from (interval_seconds, grace_seconds)`;
  return updateTable(MonitorEntity).set({
    ...changed,
    settings: sql`${changed.settings}`, // JSON text becomes a value of the column's type.
    ...effects(changed, { isOtherTarget, isOtherServer, isOtherCheck, isOtherPeriod }),
  });
}

type Changed = Partial<Record<'is_active' | 'maintenance_until' | 'interval_seconds' | 'grace_seconds', RawBuilder<unknown>>>;

type Differences = Record<'isOtherTarget' | 'isOtherServer' | 'isOtherCheck' | 'isOtherPeriod', RawBuilder<boolean>>;

/** What follows from a change, besides the columns that are given. */
function effects(changed: Changed, { isOtherTarget, isOtherServer, isOtherCheck, isOtherPeriod }: Differences) {
  const isReset = sql<boolean>`(${isOtherTarget} or ${isOtherCheck} or ${changed.is_active} <> is_active)`;
  const willBeInMaintenance = sql<boolean>`(${changed.maintenance_until} > app_now() is true)`;
  const wasInMaintenance = sql<boolean>`(maintenance_until > app_now() is true)`;
  const changesMaintenance = sql<boolean>`(${willBeInMaintenance} <> ${wasInMaintenance})`;
  const losesClaim = sql<boolean>`(${isReset} or ${isOtherPeriod} or ${changesMaintenance})`;
  /** A passive monitor that is down waits for a heartbeat. Its next check is when its maintenance ends. */
  const waits = sql<boolean>`(not ${isReset} and is_active and status = 'down' and grace_seconds is not null)`;
  const endOfWait = sql<Date>`case when ${changed.maintenance_until} is distinct from maintenance_until
    then greatest(${changed.maintenance_until}, app_now()) else next_check_at end`;
  const firstCheck = firstCheckAt(changed.interval_seconds, changed.grace_seconds);
  // What was scheduled is the end of the lease while a check runs.
  const due = sql<Date>`case when claim_token is null then next_check_at else app_now() end`;
  const addedSeconds = sql<number>`(${changed.interval_seconds}::integer + coalesce(${changed.grace_seconds}::integer, 0)
    - interval_seconds - coalesce(grace_seconds, 0))`;
  // A passive monitor still waits since its last heartbeat. A shorter period begins now, so that it is not over at once.
  const endOfPeriod = sql<Date>`greatest(${due} + ${addedSeconds} * interval '1 second', least(${due}, ${firstCheck}))`;
  const nextCheckAt = sql<Date>`case when ${waits} then ${endOfWait} when not ${losesClaim} then next_check_at
    when not ${changed.is_active} then null when ${isReset} or ${isOtherPeriod} and grace_seconds is null then ${firstCheck} else ${endOfPeriod} end`;
  return {
    ...newVersion,
    ...observeChange({
      isReset,
      wasInMaintenance,
      willBeInMaintenance,
      maintenanceUntil: sql`${changed.maintenance_until}`,
    }),
    // A passive monitor is observed until the end of its period.
    observed_until: sql<Date>`case when ${isOtherPeriod} and grace_seconds is not null and not ${waits} then ${nextCheckAt} else observed_until end`,
    status: sql<'pending' | 'paused'>`case when ${isReset} then ${statusAfterReset(changed.is_active)} else status end`,
    last_checked_at: sql<Date>`case when ${isOtherTarget} then null else last_checked_at end`,
    last_response_time_ms: sql<number>`case when ${isOtherTarget} then null else last_response_time_ms end`,
    last_error: sql<string>`case when ${isReset} then null else last_error end`,
    failures: sql<number>`case when ${isReset} or ${changesMaintenance} then 0 else failures end`,
    tls_expires_at: sql<Date>`case when ${isOtherServer} then null else tls_expires_at end`,
    tls_warnings: sql<number>`case when ${isOtherServer} then 0 else tls_warnings end`,
    tls_warned_expiry: sql<Date>`case when ${isOtherServer} then null else tls_warned_expiry end`,
    tls_warned_at: sql<Date>`case when ${isOtherServer} then null else tls_warned_at end`,
    state_version: sql<number>`case when ${isReset} then state_version + 1 else state_version end`,
    next_check_at: nextCheckAt,
    claim_token: sql<number>`case when ${losesClaim} then null else claim_token end`,
  };
}

/**
 * Schedules the next check for now, unless the monitor is paused or passive. A check that is running goes on: a slow one would never end
 * otherwise.
 */
export const checkNow = prepare(({ id }: { id: number }) =>
  updateTable(MonitorEntity)
    .set({ next_check_at: sql`case when claim_token is null then app_now() else next_check_at end` })
    .where('id', '=', id)
    .where('is_active', '=', true)
    .where('grace_seconds', 'is', null),
);

const lockMonitor = prepare(({ id, versions }: WriteCondition) =>
  tables<typeof MonitorEntity>().selectFrom('monitors').select('id').where('id', '=', id).where(hasVersion(versions)).forUpdate(),
);

const deleteIfVersion = prepare(({ id, versions }: WriteCondition) => deleteAndQueueEnds(sql`id = ${id} and ${hasVersion(versions)}`));

/** Deletes a monitor if it has one of these versions. The lock comes first, so that the second statement sees what has been sent meanwhile. */
export const deleteMonitor = (condition: WriteCondition): [Statement<{ id: number }>, ...Statement[]] => [
  lockMonitor(condition),
  lockAlertsOf({ ids: [condition.id] }),
  deleteIfVersion(condition),
];

const deleteLocked = prepare(({ ids }: { ids: number[] }) => deleteAndQueueEnds(sql`id = ${anyOf(ids)}`));

/** Deletes monitors that are locked. Returns how many. */
export async function deleteMonitors(query: Query, ids: number[]): Promise<number> {
  const [, deleted] = await query(lockAlertsOf({ ids }), deleteLocked({ ids }));
  return deleted.length;
}

/** Adds tags after those that a monitor has. Returns the new number of tags of each that has changed. */
export const addTags = prepare(({ ids, tags }: { ids: number[]; tags: string[] }) =>
  setTags(sql`tags || array(select tag from unnest(${tags}::text[]) as tag where tag <> all (tags))`, ids).where(
    sql<boolean>`not tags @> ${tags}::text[]`,
  ),
);

export const removeTags = prepare(({ ids, tags }: { ids: number[]; tags: string[] }) =>
  setTags(
    sql`array(select tag from unnest(tags) with ordinality as t (tag, position) where tag <> all (${tags}::text[]) order by position)`,
    ids,
  ).where(sql<boolean>`tags && ${tags}::text[]`),
);

function setTags(tags: RawBuilder<unknown>, ids: number[]) {
  return tables<typeof MonitorEntity>()
    .updateTable('monitors')
    .set({ tags: sql`${tags}`, ...newVersion })
    .where('id', '=', anyOf(ids))
    .returning(['id', sql<number>`cardinality(tags)`.as('tagCount')]);
}

/** The part of a URL up to its port. Browsers accept any number of slashes and backslashes before the host. */
function originOf(url: unknown) {
  return sql`substring(${url} from '^[^:]*:[/\\\\]*[^/\\\\?#]*')`;
}

/** The options of a check without those that keep the status. */
function judgedBy(settings: unknown, keepStatus: string[] | undefined) {
  return sql`(${settings} - coalesce(${keepStatus}::text[], '{}'))`;
}

function statusAfterReset(isActive: unknown) {
  return sql<'pending' | 'paused'>`case when ${isActive} then 'pending' else 'paused' end`;
}
