import type { components } from '../../../generated/types/monitoring.ts';
import type { Caller } from '../../auth/caller.ts';
import type { SecretCipher } from '../../auth/secret-cipher.ts';
import type { PassiveCheck } from '../checks/check.ts';
import { checkOf } from '../checks/registry.ts';
import type { Monitor } from './monitor.entity.ts';

type MonitorView = components['schemas']['Monitor'];

/** What a view depends on, besides the monitor. */
export interface ViewContext {
  caller: Caller;
  /** The URL of the service as clients see it. */
  publicUrl: string;
  cipher: SecretCipher;
}

export function monitorView(monitor: Monitor, context: ViewContext): MonitorView {
  return viewOf(monitor, context, checkOf(monitor.type).options?.view(monitor.settings));
}

/** A monitor in a list or an alert, without options that can be long. Without a context it is shown to somebody with no scope. */
export function listedMonitorView(monitor: Monitor, context?: ViewContext): MonitorView {
  const { options } = checkOf(monitor.type);
  const shown = Object.entries(options?.view(monitor.settings) ?? {}).filter(([name]) => !options?.unlisted.includes(name));
  return viewOf(monitor, context, options && Object.fromEntries(shown));
}

function viewOf(monitor: Monitor, context: ViewContext | undefined, options: object | undefined): MonitorView {
  const { passive } = checkOf(monitor.type);
  return {
    id: monitor.id,
    friendly_name: monitor.friendlyName,
    url: monitor.url ?? null,
    type: monitor.type,
    ...(options && { [monitor.type]: options }),
    ...(passive && { heartbeat_url: context ? receivingUrl(monitor, passive, context) : null }),
    interval: monitor.intervalSeconds,
    timeout_seconds: monitor.timeoutSeconds,
    confirmations: monitor.confirmations,
    is_active: monitor.isActive,
    status: monitor.status,
    tags: monitor.tags,
    website_id: monitor.websiteId ?? null,
    maintenance_until: monitor.maintenanceUntil?.toISOString() ?? null,
    tls_expires_at: monitor.tlsExpiresAt?.toISOString() ?? null,
    last_checked_at: monitor.lastCheckedAt?.toISOString() ?? null,
    last_response_time_ms: monitor.lastResponseTimeMs ?? null,
    last_error: monitor.lastError ?? null,
    created_at: monitor.createdAt.toISOString(),
    updated_at: monitor.updatedAt.toISOString(),
  };
}

/** Whoever knows the URL can report results, so only those who may change the monitor see it. */
function receivingUrl(monitor: Monitor, passive: PassiveCheck, { caller, publicUrl, cipher }: ViewContext): string | null {
  if (!caller.scopes.has('monitors:write')) return null;
  try {
    return publicUrl + passive.receivingPath(monitor, cipher);
  } catch {
    return null; // The operator has lost the key that encrypted it.
  }
}
