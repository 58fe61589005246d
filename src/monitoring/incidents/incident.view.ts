import type { components } from '../../../generated/types/monitoring.ts';
import type { Incident } from './incident.entity.ts';

export function incidentView(incident: Incident): components['schemas']['Incident'] {
  const { startedAt, resolvedAt } = incident;
  return {
    id: incident.id,
    monitor_id: incident.monitorId,
    status: resolvedAt ? 'resolved' : 'open',
    started_at: startedAt.toISOString(),
    resolved_at: resolvedAt?.toISOString() ?? null,
    duration_seconds: resolvedAt ? Math.round((resolvedAt.getTime() - startedAt.getTime()) / 1000) : null,
    cause: incident.cause,
    status_code: incident.statusCode ?? null,
    acknowledged_at: incident.acknowledgedAt?.toISOString() ?? null,
  };
}
