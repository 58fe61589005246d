import type { StoredEvent } from '../../src/monitoring/messages/event.ts';

type Type = 'monitor.down' | 'monitor.reminder' | 'monitor.recovered';

/** An incident of a monitor, which lasts from 01:41:07 to 02:04:18 UTC on Sun 15 Nov 2026. Its reminder follows after 22 minutes. */
export function sampleEvent({ type = 'monitor.down' as Type, name = 'Checkout API', cause = 'HTTP 503' } = {}): StoredEvent {
  const isDown = type !== 'monitor.recovered';
  const [down, up] = ['2026-11-15T01:41:07.000Z', '2026-11-15T02:04:18.000Z'];
  return {
    type,
    timestamp: { 'monitor.down': '2026-11-15T01:41:17.000Z', 'monitor.reminder': '2026-11-15T02:03:17.000Z', 'monitor.recovered': up }[
      type
    ],
    data: {
      monitor: {
        id: 5,
        friendly_name: name,
        url: 'https://api.northwind.example/v2/checkout/health',
        type: 'http',
        interval: 60,
        timeout_seconds: 10,
        confirmations: 2,
        is_active: true,
        status: isDown ? 'down' : 'up',
        tags: [],
        website_id: null,
        maintenance_until: null,
        tls_expires_at: null,
        last_checked_at: isDown ? down : up,
        last_response_time_ms: 205,
        last_error: isDown ? cause : null,
        created_at: '2026-11-01T00:00:00.000Z',
        updated_at: '2026-11-01T00:00:00.000Z',
      },
      incident: {
        id: 4012,
        monitor_id: 5,
        status: isDown ? 'open' : 'resolved',
        started_at: down,
        resolved_at: isDown ? null : up,
        duration_seconds: isDown ? null : 1391,
        cause,
        status_code: 503,
        acknowledged_at: null,
      },
    },
    lastGood: isDown ? { at: '2026-11-15T01:40:07.000Z', ms: 614 } : null,
  };
}

/** The columns `kind` and `payload` of an alert, for an SQL text. */
export function sampleAlert(type: Type = 'monitor.down'): string {
  return `'${type}', '${JSON.stringify(sampleEvent({ type }))}'::jsonb`;
}

/** The same with the name of the monitor from an SQL expression, so that a test recognizes the alert. */
export function namedAlert(name: string, type: Type = 'monitor.down'): string {
  return `'${type}', jsonb_set('${JSON.stringify(sampleEvent({ type }))}'::jsonb, '{data,monitor,friendly_name}', to_jsonb(${name}::text))`;
}

/** The name of the monitor in the payload of an alert, as an SQL expression. */
export const alertName = `payload #>> '{data,monitor,friendly_name}'`;
