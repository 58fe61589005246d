import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { prepare } from '../db/statement.ts';
import { tables } from '../db/tables.ts';
import type { Loop } from './loop.ts';

const channel = 'work_available';

/** The loops that can be woken. The name is the payload of the notification. */
type LoopName = 'engine' | 'dispatcher';

/** Wakes the engines of all processes when the transaction commits. It belongs to every transaction that schedules a monitor. */
export const wakeEngine = notify('engine');

/** Wakes the dispatchers of all processes when the transaction commits. It belongs to every transaction that queues an alert. */
export const wakeDispatcher = notify('dispatcher');

/** Does so as a part of a statement. */
export const notifyDispatcher = notification('dispatcher');

function notify(loop: LoopName) {
  return prepare(() => tables().selectNoFrom(notification(loop).as('notified')));
}

function notification(loop: LoopName) {
  return sql`pg_notify(${sql.lit(channel)}, ${sql.lit(loop)})`;
}

/** One connection listens for both. Notifications may be lost while it is disconnected, so both are woken when it is back. */
export function listenForWork(database: Database, loops: Record<LoopName, Pick<Loop, 'wake'>>): Promise<void> {
  return database.listen(channel, {
    onNotification: (payload) => loops[payload as LoopName]?.wake(),
    onReconnect: () => Object.values(loops).forEach((loop) => void loop.wake()),
  });
}

/**
 * The longest sleep. It bounds the delay if a notification is lost, such as on a connection that seems to be open but is not, if
 * another process dies before it sends the next alert, and if the clock of the database is changed.
 */
export const defaultMaxSleepMs = 30_000;

/** Converts the time until work is due, if there is any, to that of a timer, which can fire a millisecond early. */
export function msUntilDue(seconds: number | undefined): number {
  return seconds === undefined ? Number.POSITIVE_INFINITY : Math.ceil(seconds * 1000) + 1;
}
