import { sql } from 'kysely';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { StoredEvent } from '../messages/event.ts';
import { isSuspended } from '../suspended-users.ts';
import { wakeDispatcher } from '../wake.ts';
import type { AlertEntity } from './alert.entity.ts';

/** Identifies an attempt to send an alert. Its result is recorded only while the alert has this token. */
export interface Lease {
  id: number;
  token: number;
}

/** Several leases, for a statement. No token is used twice, so each belongs to one of the ids. */
interface Leases {
  ids: number[];
  tokens: number[];
}

/** An attempt ends within this time, so its outcome is known afterwards. */
const attemptSeconds = 10;

const db = tables<typeof AlertEntity>();
const now = sql<Date>`app_now()`;
const inSeconds = (seconds: number) => sql<Date>`${now} + ${seconds}::float8 * interval '1 second'`;
/** A lease is longer than any attempt takes. Afterwards another process can try. */
export const leaseEnd = sql<Date>`app_now() + interval '60 seconds'`;

export function leasesOf(alerts: readonly Lease[]): Leases {
  return { ids: alerts.map(({ id }) => id), tokens: alerts.map(({ token }) => token) };
}

const updateLeased = ({ ids, tokens }: Leases) =>
  db
    .updateTable('alerts')
    .where('id', '=', sql<number>`any (${ids}::bigint[])`)
    .where('lease_token', '=', sql<number>`any (${tokens}::bigint[])`);

/**
 * Selects the alerts that are leased to this process, and locks them, so that they cannot be canceled until the attempt begins. They may
 * be deleted with their user, monitor or provider, or canceled, the lease may have expired, or the user may be suspended.
 */
export const lockLeased = prepare(({ ids, tokens }: Leases) =>
  db
    .selectFrom('alerts')
    .select(['id', now.as('now')])
    .where('id', '=', sql<number>`any (${ids}::bigint[])`)
    .where('lease_token', '=', sql<number>`any (${tokens}::bigint[])`)
    .where('status', '=', sql.lit('queued'))
    .where('next_attempt_at', '>', now)
    .where(sql<boolean>`not ${isSuspended('user_id')}`)
    .orderBy('id')
    .forUpdate(),
);

/** An attempt begins: the alerts are counted, and the lease lasts longer than the attempt. */
export const beginAttempt = prepare((leases: Leases) =>
  updateLeased(leases).set({ counted_at: sql`coalesce(counted_at, ${now})`, next_attempt_at: leaseEnd }),
);

/** What has happened, for the alerts that a message describes one by one. */
export const selectEvents = prepare(({ ids }: { ids: number[] }) =>
  db
    .selectFrom('alerts')
    .select(['id', sql<StoredEvent>`payload`.as('event')])
    .where('id', '=', sql<number>`any (${ids}::bigint[])`),
);

export const markSent = prepare((leases: Leases) =>
  updateLeased(leases).set({
    status: sql.lit('sent'),
    done_at: now,
    first_sent_at: sql`coalesce(first_sent_at, ${now})`,
    last_error: null,
  }),
);

/** An alert that was canceled during the attempt keeps the reason. */
const failedBecause = (reason: string) => sql<string | null>`case when status = 'queued' then ${reason} else last_error end`;

/** Ends the alerts: they have failed, or are suppressed. */
export const markEnded = prepare((given: Leases & { status: 'failed' | 'suppressed'; reason: string }) =>
  updateLeased(given).set({
    status: sql<'failed' | 'suppressed'>`case when status = 'queued' then ${given.status} else status end`,
    done_at: now,
    lease_token: null,
    last_error: failedBecause(given.reason),
  }),
);

/** Ends alerts that are too old. They keep the reason of the last attempt. */
export const markExpired = prepare((leases: Leases) =>
  updateLeased(leases).set({
    status: sql.lit('failed'),
    done_at: now,
    lease_token: null,
    last_error: sql`coalesce(last_error, 'not sent within 24 hours')`,
  }),
);

/** Ends the leases of alerts that were canceled before the attempt. Their recoveries need not wait any longer. */
export const endCanceledLeases = prepare((leases: Leases) =>
  updateLeased(leases).set({ lease_token: null }).where('status', '=', sql.lit('suppressed')),
);

/** Releases the leases. The alerts are sent again after some time, unless they were canceled during the attempt. */
export const postpone = prepare((given: Leases & { reason: string; seconds: number }) =>
  updateLeased(given).set({ next_attempt_at: inSeconds(given.seconds), lease_token: null, last_error: failedBecause(given.reason) }),
);

/** Releases alerts whose attempt has not begun. They are due at once. */
export const releaseWaiting = prepare((leases: Leases) =>
  updateLeased(leases).set({ next_attempt_at: now, lease_token: null, attempts: sql`attempts - 1` }),
);

/** Releases alerts that may have been sent. They keep the token, as after the end of the process, and are due when the attempt has ended. */
const releaseAttempted = prepare((leases: Leases) => updateLeased(leases).set({ next_attempt_at: inSeconds(attemptSeconds) }));

/** Releases alerts at shutdown, so that other processes need not wait for the leases to expire. Maps each to whether it was attempted. */
export async function releaseAlerts(query: Query, leased: ReadonlyMap<Lease, boolean>): Promise<void> {
  const [attempted, waiting] = [true, false].map((state) => leasesOf([...leased.keys()].filter((lease) => leased.get(lease) === state)));
  if (attempted && waiting) await query(releaseAttempted(attempted), releaseWaiting(waiting), wakeDispatcher({}));
}
