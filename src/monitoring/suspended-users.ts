import { sql } from 'kysely';
import { prepare, type Query } from '../db/statement.ts';
import { tables } from '../db/tables.ts';
import { turnAfterInterruption } from './engine/schedule.ts';
import type { MonitorEntity } from './monitors/monitor.entity.ts';
import { wakeDispatcher, wakeEngine } from './wake.ts';

/** Whether the user with the id in this column is suspended, for statements of the engine. It sees no other users. */
export function isSuspended(userIdColumn: string) {
  return sql<boolean>`exists (select from users as suspended where suspended.id = ${sql.ref(userIdColumn)} and suspended_at is not null)`;
}

const db = tables<typeof MonitorEntity>();

/** Stops the checks of a user. A check that is running loses its claim, so that its result is dropped. */
export const unscheduleMonitors = prepare(({ userId }: { userId: number }) =>
  db
    .updateTable('monitors')
    .set({ next_check_at: null, claim_token: null })
    .where('user_id', '=', userId)
    .where('next_check_at', 'is not', null),
);

const scheduleMonitors = prepare(({ userId }: { userId: number }) =>
  db
    .updateTable('monitors as m')
    .set({
      next_check_at: turnAfterInterruption,
      // Failures from before say nothing about the present.
      failures: sql`case when status = 'down' then failures else 0 end`,
    })
    .where('m.user_id', '=', userId)
    .where('m.is_active', '=', true),
);

/** Continues the checks of a user, spread over a minute, and the alerts that wait. */
export async function resumeMonitoring(query: Query, userId: number): Promise<void> {
  await query(scheduleMonitors({ userId }), wakeEngine({}), wakeDispatcher({}));
}
