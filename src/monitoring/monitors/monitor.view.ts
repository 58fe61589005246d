import type { components } from '../../../generated/types/monitoring.ts';
import { checkOf } from '../checks/registry.ts';
import type { Monitor } from './monitor.entity.ts';

type MonitorView = components['schemas']['Monitor'];

export function monitorView(monitor: Monitor): MonitorView {
  return viewOf(monitor, checkOf(monitor.type).options?.view(monitor.settings));
}

/** A monitor in a list, without options that can be long. */
export function listedMonitorView(monitor: Monitor): MonitorView {
  return viewOf(monitor, checkOf(monitor.type).options?.listView(monitor.settings));
}

function viewOf(monitor: Monitor, options: object | undefined): MonitorView {
  return {
    id: monitor.id,
    friendly_name: monitor.friendlyName,
    url: monitor.url,
    type: monitor.type,
    ...(options && { [monitor.type]: options }),
    interval: monitor.intervalSeconds,
    timeout_seconds: monitor.timeoutSeconds,
    confirmations: monitor.confirmations,
    is_active: monitor.isActive,
    status: monitor.status,
    tags: monitor.tags,
    website_id: monitor.websiteId ?? null,
    maintenance_until: monitor.maintenanceUntil?.toISOString() ?? null,
    last_checked_at: monitor.lastCheckedAt?.toISOString() ?? null,
    last_response_time_ms: monitor.lastResponseTimeMs ?? null,
    last_error: monitor.lastError ?? null,
    created_at: monitor.createdAt.toISOString(),
    updated_at: monitor.updatedAt.toISOString(),
  };
}
