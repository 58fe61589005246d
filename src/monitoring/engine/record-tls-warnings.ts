import { type RawBuilder, sql } from 'kysely';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import { tlsExpiringMessage } from '../alerts/alert-messages.ts';
import { queueAlerts } from '../alerts/outbox.ts';
import type { MonitorEntity } from '../monitors/monitor.entity.ts';

const isLastDay = sql<boolean>`(m.tls_expires_at <= app_now() + interval '1 day')`;

/** Whether monitor `m` is to be warned of, if warnings begin so many days before its certificate expires. During a maintenance it waits. */
export function needsTlsWarning(warningDays: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`(${warningDays} is not null and m.maintenance_until > app_now() is not true
    and m.tls_expires_at <= app_now() + greatest(${warningDays}, 1) * interval '1 day'
    and m.tls_warnings < case when ${isLastDay} then 2 else 1 end)`;
}

const countWarnings = prepare(({ monitorIds }: { monitorIds: number[] }) =>
  tables<typeof MonitorEntity>()
    .updateTable('monitors as m')
    .set({ tls_warnings: sql`case when ${isLastDay} then 2 else 1 end` })
    .where('m.id', '=', sql<number>`any (${monitorIds}::bigint[])`)
    .returning(['m.id as monitorId', 'm.user_id as userId', 'm.friendly_name as name', 'm.url'])
    .returning([sql<Date>`m.tls_expires_at`.as('expiresAt'), sql<Date>`app_now()`.as('now')]),
);

/** Queues warnings that the certificates of these monitors expire soon. Returns the number of alerts. */
export async function queueTlsWarnings(query: Query, monitorIds: number[]): Promise<number> {
  if (monitorIds.length === 0) return 0;
  const [monitors] = await query(countWarnings({ monitorIds }));
  return queueAlerts(
    query,
    'tls_expiring',
    monitors.map((monitor) => ({ userId: monitor.userId, monitorId: monitor.monitorId, ...tlsExpiringMessage(monitor) })),
  );
}
