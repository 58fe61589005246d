import type { components } from '../../../generated/types/monitoring.ts';
import type { Monitor } from './monitor.entity.ts';

export function monitorView(monitor: Monitor): components['schemas']['Monitor'] {
  return {
    id: monitor.id,
    friendly_name: monitor.friendlyName,
    url: monitor.url,
    type: monitor.type,
    ...(Object.keys(monitor.settings).length > 0 && { [monitor.type]: monitor.settings }),
    interval: monitor.intervalSeconds,
    is_active: monitor.isActive,
    status: monitor.status,
    last_checked_at: monitor.lastCheckedAt?.toISOString() ?? null,
    last_response_time_ms: monitor.lastResponseTimeMs ?? null,
    last_error: monitor.lastError ?? null,
    created_at: monitor.createdAt.toISOString(),
    updated_at: monitor.updatedAt.toISOString(),
  };
}
