import { type RawBuilder, sql } from 'kysely';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import { renewalEvents, tlsEvents } from '../alerts/alert-events.ts';
import { queueRenewals } from '../alerts/ends.ts';
import { queueAlerts } from '../alerts/outbox.ts';
import type { MonitorEntity } from '../monitors/monitor.entity.ts';

/** The second warning is the last one. */
const dueWarnings = sql<number>`case when m.tls_expires_at <= app_now() + interval '1 day' then 2 else 1 end`;

/**
 * Whether monitor `m` is to be warned of, if warnings begin so many days before its certificate expires. During a maintenance it waits.
 * The servers of a host may have different certificates: one that expires earlier than that of the last warning needs none before its
 * last day, and a target that shows a new one with every check causes one warning a day.
 */
export function needsTlsWarning(warningDays: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`(${warningDays} is not null and m.maintenance_until > app_now() is not true
    and m.tls_expires_at <= app_now() + ${warningDays} * interval '1 day'
    and m.tls_warned_at > app_now() - interval '20 hours' is not true
    and (m.tls_expires_at > m.tls_warned_expiry is not false
      or m.tls_expires_at = m.tls_warned_expiry and abs(m.tls_warnings) < ${dueWarnings}
      or m.tls_expires_at < m.tls_warned_expiry and m.tls_expires_at between app_now() and app_now() + interval '1 day'))`;
}

/** When the certificate of monitor `m` would have expired that users were warned of, if another one with more time is seen now. */
export const replacedExpiry = sql<Date | null>`case when m.tls_warnings > 0 and m.tls_expires_at > m.tls_warned_expiry
  then m.tls_warned_expiry end`;

/** Without a provider nobody is warned. Such a monitor is only marked, and the warning is sent once it has one. */
const hasProvider = sql`exists (select from notifications as n where n.user_id = m.user_id and n.monitor_id = m.id and n.enabled)`;

const countWarnings = prepare(({ monitorIds }: { monitorIds: number[] }) =>
  tables<typeof MonitorEntity>()
    .updateTable('monitors as m')
    .set({
      tls_warnings: sql`case when ${hasProvider} then ${dueWarnings} else 0 end`,
      tls_warned_expiry: sql`m.tls_expires_at`,
      tls_warned_at: sql`case when ${hasProvider} then app_now() else m.tls_warned_at end`,
    })
    .where('m.id', '=', sql<number>`any (${monitorIds}::bigint[])`),
);

/** Queues warnings that the certificates of these monitors expire soon. Returns the number of alerts. */
export async function queueTlsWarnings(query: Query, monitorIds: number[]): Promise<number> {
  if (monitorIds.length === 0) return 0;
  await query(countWarnings({ monitorIds }));
  return queueAlerts(query, await tlsEvents(query, monitorIds));
}

/** The sign remembers that users were told: as long as only some servers of a host have the new certificate, they are told once. */
const endWarnings = prepare(({ monitorIds }: { monitorIds: number[] }) =>
  tables<typeof MonitorEntity>()
    .updateTable('monitors as m')
    .set({ tls_warnings: sql`-m.tls_warnings` })
    .where('m.id', '=', sql<number>`any (${monitorIds}::bigint[])`),
);

/** Queues the end of warnings, by the id of the monitor and the expiry that users were warned of. Returns the number of alerts. */
export async function queueTlsRenewals(query: Query, replaced: ReadonlyMap<number, Date>): Promise<number> {
  if (replaced.size === 0) return 0;
  await query(endWarnings({ monitorIds: [...replaced.keys()] }));
  return queueRenewals(query, await renewalEvents(query, replaced));
}
