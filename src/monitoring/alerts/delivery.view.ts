import type { components } from '../../../generated/types/monitoring.ts';
import type { Alert } from './alert.entity.ts';

/** An alert as the log of deliveries shows it. */
export interface LoggedAlert
  extends Pick<Alert, 'id' | 'kind' | 'incidentId' | 'status' | 'attempts' | 'lastError' | 'nextAttemptAt' | 'createdAt' | 'doneAt'> {
  /** The monitor that the event is about. */
  monitorId: number | null;
  isBeingSent: boolean;
}

export function deliveryView(alert: LoggedAlert): components['schemas']['Delivery'] {
  const isWaiting = alert.status === 'queued' && !alert.isBeingSent;
  return {
    id: alert.id,
    event: alert.kind,
    monitor_id: alert.monitorId,
    incident_id: alert.incidentId ?? null,
    status: alert.status,
    attempts: alert.attempts,
    last_error: alert.lastError ?? null,
    next_attempt_at: isWaiting ? alert.nextAttemptAt.toISOString() : null,
    sent_at: alert.status === 'sent' && alert.doneAt ? alert.doneAt.toISOString() : null,
    created_at: alert.createdAt.toISOString(),
  };
}
