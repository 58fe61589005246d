// Drops alerts that wait to be sent, because they are not wanted or not true any more. If an attempt has begun, it may still succeed.
import { type RawBuilder, sql } from 'kysely';
import { prepare } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { IncidentEntity } from '../incidents/incident.entity.ts';
import type { EventType } from '../messages/event.ts';
import { hasNoIncident, type MonitorEntity } from '../monitors/monitor.entity.ts';
import type { AlertEntity } from './alert.entity.ts';
import { keepsIncidents, mayBeAccepted, mayBeDelivered } from './delivered.ts';

interface Incidents {
  userIds: number[];
  incidentIds: number[];
}

const db = tables<typeof AlertEntity | typeof IncidentEntity | typeof MonitorEntity>();
const now = sql<Date>`app_now()`;
const anyOf = (ids: number[]) => sql<number>`any (${ids}::bigint[])`;
const kind = (type: EventType) => sql.lit(type);

const inDelay = {
  resolved: 'not sent: the monitor was up again before the delay was over',
  acknowledged: 'not sent: the incident was acknowledged before the delay was over',
};
const delayReasons = sql.join(Object.values(inDelay).map((reason) => sql.lit(reason)));

/** Whether the alert was dropped while it had a delay. Nobody is told of the recovery either. */
export function wasDroppedInDelay(alias: string): RawBuilder<boolean> {
  return sql`(${sql.ref(`${alias}.last_error`)} in (${delayReasons}))`;
}

export const resetReason = 'not sent: the monitor was paused or in maintenance, or its target changed';

/** Whether alert `a` is the recovery of an incident of which an alert to the same provider meets a condition. */
export function endsAlert(kinds: readonly EventType[], condition: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`(a.kind = 'monitor.recovered' and exists (select from alerts as told where told.user_id = a.user_id
    and told.incident_id = a.incident_id and told.provider_id = a.provider_id and told.kind in (${sql.join(kinds.map(kind))})
    and ${condition}))`;
}

/** The alerts by which a provider is told that a monitor is down. One that is assigned later gets only reminders. */
export const tellingKinds: readonly EventType[] = ['monitor.down', 'monitor.reminder'];

const endsTold = endsAlert(tellingKinds, mayBeDelivered('told'));
/** The receiver may have opened an incident, although every attempt has failed. */
const mayEndIncident = sql<boolean>`(${endsAlert(tellingKinds, mayBeAccepted('told'))} and exists (select from providers as p
  where p.user_id = a.user_id and p.id = a.provider_id and ${keepsIncidents('p')}))`;

const cancel = (reason: unknown) =>
  db
    .updateTable('alerts as a')
    .set({ status: sql.lit('suppressed'), done_at: now, last_error: sql`${reason}` })
    .where('a.status', '=', sql.lit('queued'));

const ofIncidents = ({ userIds, incidentIds }: Incidents) =>
  sql<boolean>`(a.user_id, a.incident_id) in (select * from unnest(${userIds}::bigint[], ${incidentIds}::bigint[]))`;

/** The alerts of incidents that have ended, or were acknowledged, before the delay was over. */
const cancelDelayed = prepare((given: Incidents & { reason: string }) =>
  cancel(given.reason).where(ofIncidents(given)).where('a.kind', '=', kind('monitor.down')).where('a.queued_at', '>', now),
);

const cancelReminders = prepare((given: Incidents & { reason: string }) =>
  cancel(given.reason).where(ofIncidents(given)).where('a.kind', '=', kind('monitor.reminder')),
);

/** What is not sent about incidents, because they have ended or a user has acknowledged them. */
export function cancelAlertsOf(incidents: Incidents, state: 'resolved' | 'acknowledged') {
  return [
    cancelDelayed({ ...incidents, reason: inDelay[state] }),
    cancelReminders({ ...incidents, reason: `not sent: the incident is ${state}` }),
  ];
}

/**
 * The alerts of a monitor that was reset or is in maintenance. If somebody was told that it is down, and it has recovered before the
 * reset, they are still told so. While a process has leased the down alert, the recovery waits, because that may still be sent.
 */
export const cancelAlerts = prepare(({ ids }: { ids: number[] }) => {
  const incidents = db
    .selectFrom('incidents as i')
    .innerJoin('monitors as m', 'm.id', 'i.monitor_id')
    .select('i.id')
    .where('m.id', '=', anyOf(ids))
    .where(hasNoIncident);
  return (
    cancel(sql.lit(resetReason))
      // As long as the tables have no statistics, an array is faster than a join.
      .where(sql<boolean>`a.incident_id = any (array(${incidents}))`)
      .where(({ not }) => not(endsTold))
      .where(({ not }) => not(mayEndIncident))
  );
});

/** The warnings of a monitor that has another target, whose certificate nobody was warned of. */
export const cancelWarnings = prepare(({ ids }: { ids: number[] }) => {
  const repointed = db.selectFrom('monitors').select('id').where('id', '=', anyOf(ids)).where('tls_warned_expiry', 'is', null);
  return cancel(sql.lit(resetReason))
    .where(sql<boolean>`a.monitor_id = any (array(${repointed}))`)
    .where('a.kind', '=', kind('monitor.tls_expiring'));
});

/** The warnings of monitors that have a new certificate. */
export const cancelRenewed = prepare(({ monitorIds }: { monitorIds: number[] }) =>
  cancel(sql.lit('not sent: the monitor has a new certificate'))
    .from('monitors as m')
    .where('m.id', '=', anyOf(monitorIds))
    .whereRef('a.user_id', '=', 'm.user_id')
    .whereRef('a.monitor_id', '=', 'm.id')
    .where('a.kind', '=', kind('monitor.tls_expiring')),
);

/** The alerts about monitors that a provider is not assigned to any more. What ends something is still sent to those who were told. */
export const cancelUnassigned = prepare((given: { monitorIds: number[]; providerId: number }) =>
  cancel(sql.lit('not sent: the provider is not assigned to the monitor any more'))
    .where('a.provider_id', '=', given.providerId)
    .where(sql<boolean>`(a.payload #>> '{data,monitor,id}')::bigint = any (${given.monitorIds}::bigint[])`)
    .where(sql<boolean>`(a.kind in (${sql.join([...tellingKinds, 'monitor.tls_expiring' as const].map(kind))})
      or a.kind = 'monitor.recovered' and a.incident_id is not null and not ${endsTold} and not ${mayEndIncident})`),
);
