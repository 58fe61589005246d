import { sql } from 'kysely';
import { prepare } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { RollUpProgressEntity } from './roll-up-progress.entity.ts';

const db = tables<typeof RollUpProgressEntity>();

const progress = () =>
  db
    .selectFrom('roll_up_progress')
    .select([sql<number>`(extract(epoch from hour) * 1000)::float8`.as('hourMs'), 'monitor_id as monitorId'])
    .select(sql<number>`(extract(epoch from app_now()) * 1000)::float8`.as('nowMs'));

/** Before the first roll-up, the hours are still to be rolled up from the first one on that has checks. */
const firstHour = sql<Date>`date_trunc('hour', least(app_now(), (select min(hour) from check_logs)), 'UTC')`;

/** All hours before this one were rolled up. */
export const rolledUntil = sql<Date>`coalesce((select hour from roll_up_progress), ${firstHour})`;

/** Reads how far hours were rolled up, and what time it is for the database. */
export const selectProgress = prepare(() =>
  db.selectNoFrom([
    sql<number>`(extract(epoch from ${rolledUntil}) * 1000)::float8`.as('hourMs'),
    sql<number>`(extract(epoch from app_now()) * 1000)::float8`.as('nowMs'),
  ]),
);

/** Inserts the row if there is none. The service does so rather than a migration, so that a copied database has one as well. */
export const startProgress = prepare(() =>
  db
    .insertInto('roll_up_progress')
    .columns(['hour'])
    .expression(db.selectNoFrom(firstHour.as('hour')).where(sql<boolean>`not exists (select from roll_up_progress)`))
    .onConflict((conflict) => conflict.doNothing()),
);

/** Locks it, so that only one process at a time changes statistics. Returns no row if another one does. */
export const tryLockProgress = prepare(() => progress().forUpdate().skipLocked());

/** Waits until no other process changes statistics. */
export const lockProgress = prepare(() => progress().forUpdate());

export const setProgress = prepare((given: { hour: Date; monitorId: number }) =>
  db.updateTable('roll_up_progress').set({ hour: given.hour, monitor_id: given.monitorId }),
);
