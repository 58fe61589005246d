import { sql } from 'kysely';
import { prepare, type Query } from '../../db/statement.ts';
import type { Incident } from '../incidents/incident.entity.ts';
import { incidentView } from '../incidents/incident.view.ts';
import type { StoredEvent } from '../messages/event.ts';
import type { Monitor } from '../monitors/monitor.entity.ts';
import { listedMonitors } from '../monitors/monitor.list.ts';
import { listedMonitorView } from '../monitors/monitor.view.ts';

/** An event, and what it is about. */
export interface NewEvent {
  userId: number;
  monitorId: number;
  /** Absent if it is about no incident. */
  incidentId?: number;
  event: StoredEvent;
}

/** A monitor, what is known about its last response before a failure, and the time. */
type EventMonitor = Monitor & { lastGoodAt: Date | null; lastGoodMs: number | null; now: Date };

const selectMonitors = prepare(({ ids }: { ids: number[] }) =>
  listedMonitors()
    .select(['last_good_at as lastGoodAt', 'last_good_ms as lastGoodMs', sql<Date>`app_now()`.as('now')])
    .$castTo<EventMonitor>()
    .where('id', '=', sql<number>`any (${ids}::bigint[])`),
);

type IncidentEventType = 'monitor.down' | 'monitor.reminder' | 'monitor.recovered';

/** Describes incidents that have opened, are still open, or were resolved, with the monitors as they are now. */
export async function incidentEvents(query: Query, type: IncidentEventType, incidents: Incident[]): Promise<NewEvent[]> {
  const monitors = await readMonitors(
    query,
    incidents.map(({ monitorId }) => monitorId),
  );
  return incidents.flatMap((incident): NewEvent[] => {
    const monitor = monitors.get(incident.monitorId);
    if (!monitor) return [];
    const { lastGoodAt, lastGoodMs, now } = monitor;
    const data = { monitor: listedMonitorView(monitor), incident: incidentView(incident) };
    const lastGood = type !== 'monitor.recovered' && lastGoodAt ? { at: lastGoodAt.toISOString(), ms: lastGoodMs } : null;
    const event = { type, timestamp: now.toISOString(), data, lastGood };
    return [{ userId: incident.userId, monitorId: incident.monitorId, incidentId: incident.id, event }];
  });
}

/** Describes monitors whose certificates expire soon. */
export async function tlsEvents(query: Query, monitorIds: number[]): Promise<NewEvent[]> {
  const monitors = await readMonitors(query, monitorIds);
  return [...monitors.values()].map((monitor) => ({
    userId: monitor.userId,
    monitorId: monitor.id,
    event: {
      type: 'monitor.tls_expiring',
      timestamp: monitor.now.toISOString(),
      data: { monitor: listedMonitorView(monitor), incident: null },
    },
  }));
}

/** Describes monitors that have a new certificate, by the expiry of the one that users were warned of. */
export async function renewalEvents(query: Query, replaced: ReadonlyMap<number, Date>): Promise<NewEvent[]> {
  const monitors = await readMonitors(query, [...replaced.keys()]);
  return [...replaced].flatMap(([id, expiry]): NewEvent[] => {
    const monitor = monitors.get(id);
    if (!monitor) return [];
    const data = { monitor: listedMonitorView(monitor), incident: null };
    const event = {
      type: 'monitor.tls_renewed' as const,
      timestamp: monitor.now.toISOString(),
      data,
      replacedExpiry: expiry.toISOString(),
    };
    return [{ userId: monitor.userId, monitorId: id, event }];
  });
}

async function readMonitors(query: Query, ids: number[]): Promise<Map<number, EventMonitor>> {
  const [monitors] = await query(selectMonitors({ ids }));
  return new Map(monitors.map((monitor) => [monitor.id, monitor]));
}
