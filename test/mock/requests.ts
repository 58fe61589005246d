import type { ApiClient } from '../support/api-client.ts';

export const password = 'correct horse battery';
/** The token of a heartbeat monitor that exists before the first request. */
export const heartbeatToken = 'a'.repeat(32);

export interface Sample {
  status: number;
  /** Empty if the contract does not declare the path or the method. */
  operation: string;
  method: string;
  path: string;
  as: 'key' | 'session' | 'anonymous';
  options: NonNullable<Parameters<ApiClient['request']>[2]>;
}

/**
 * Requests that depend on each other, for a new user on an empty database. The first resource of each kind has the id 1. The
 * calling key also has the id 1.
 */
export const samples: Sample[] = [
  // The website registry
  sample(201, 'createWebsite', 'POST /api/v1/websites', { form: { domain: 'https://www.example.com/', email: '1' } }),
  sample(201, 'createWebsite', 'POST /api/v1/websites', {
    form: { domain: 'shop.example.org', privacy: '2', password },
    headers: { 'Idempotency-Key': 'first' },
  }),
  sample(401, 'createWebsite', 'POST /api/v1/websites', { form: { domain: 'example.net' } }, 'anonymous'),
  sample(406, 'createWebsite', 'POST /api/v1/websites', { form: { domain: 'example.net' }, headers: { Accept: 'text/html' } }),
  sample(415, 'createWebsite', 'POST /api/v1/websites', { json: { domain: 'example.net' } }),
  sample(413, 'createWebsite', 'POST /api/v1/websites', { form: { domain: 'x'.repeat(300_000) } }),
  sample(400, 'createWebsite', 'POST /api/v1/websites', {
    raw: 'domain=%ff.example',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  }),
  sample(422, 'createWebsite', 'POST /api/v1/websites', { form: { domain: 'localhost' } }),
  sample(422, 'createWebsite', 'POST /api/v1/websites', { form: { domain: 'example.net', privacy: '2' } }),
  sample(422, 'createWebsite', 'POST /api/v1/websites', { form: { domain: 'example.net', exclude_ips: 'home' } }),
  sample(422, 'createWebsite', 'POST /api/v1/websites', { form: [...twice('domain', 'example.net')] }),
  sample(200, 'listWebsites', 'GET /api/v1/websites'),
  sample(200, 'listWebsites', 'GET /api/v1/websites?favorite=1&per_page=25&sort_by=domain&sort=asc&unknown=ignored'),
  sample(200, 'listWebsites', 'GET /api/v1/websites?favorite=false'),
  sample(200, 'listWebsites', 'GET /api/v1/websites?favorite=False'),
  sample(304, 'listWebsites', 'GET /api/v1/websites', { headers: { 'If-None-Match': '*' } }),
  sample(200, 'listWebsites', 'GET /api/v1/websites', { headers: { 'If-None-Match': '"0123456789abcdef"' } }),
  sample(422, 'listWebsites', 'GET /api/v1/websites?favorite=yes'),
  sample(422, 'listWebsites', 'GET /api/v1/websites?page=1&page=2'),
  sample(400, 'listWebsites', 'GET /api/v1/websites?search=%ff'),
  sample(200, 'listWebsites', 'HEAD /api/v1/websites'),
  sample(200, 'showWebsite', 'GET /api/v1/websites/1'),
  sample(304, 'showWebsite', 'GET /api/v1/websites/1', { headers: { 'If-None-Match': '*' } }),
  sample(422, 'showWebsite', 'GET /api/v1/websites/first'),
  sample(401, 'showWebsite', 'GET /api/v1/websites/1', { headers: { Authorization: 'Basic dTpw' } }, 'anonymous'),
  sample(200, 'showWebsiteByDomain', 'GET /api/v1/domains/example.com'),
  sample(200, 'updateWebsite', 'PATCH /api/v1/websites/1', { form: { favorite: '0' } }),
  sample(200, 'putWebsite', 'PUT /api/v1/websites/1', { form: { favorite: 'true' }, headers: { 'If-Match': '*' } }),
  sample(412, 'putWebsite', 'PUT /api/v1/websites/1', {
    form: { favorite: '1' },
    headers: { 'If-Match': '"website-1-99-0123456789abcdef"' },
  }),
  sample(422, 'updateWebsite', 'PATCH /api/v1/websites/1', { form: { favorite: '2' } }),
  sample(422, 'putWebsite', 'PUT /api/v1/websites/1', { form: { domain: 'example.net' } }),
  sample(200, 'verifyWebsitePassword', 'POST /api/v1/websites/2/verify-password', { form: { password } }),
  sample(200, 'deleteWebsite', 'DELETE /api/v1/websites/2'),

  // Paths and methods
  sample(404, '', 'GET /api/v1/pages'),
  sample(404, '', 'GET /api/nothing'),
  sample(404, '', 'GET /nothing'),
  sample(404, '', 'GET /api/v1/websites/%ff'),
  sample(405, '', 'DELETE /api/v1/websites'),
  sample(405, '', 'PATCH /api/monitors/1', {}, 'anonymous'),
  sample(204, '', 'OPTIONS /api/monitors/1'),

  // Keys
  sample(201, 'createKey', 'POST /api/keys', { json: { name: 'Deploy script', scopes: ['monitors:read'] } }),
  sample(422, 'createKey', 'POST /api/keys', { json: { name: 'Late', scopes: ['monitors:read'], expires_at: '2020-01-01T00:00:00Z' } }),
  sample(422, 'createKey', 'POST /api/keys', { json: { name: '', scopes: ['everything'] } }),
  sample(200, 'listKeys', 'GET /api/keys?page=1&pageSize=5'),
  sample(304, 'listKeys', 'GET /api/keys', { headers: { 'If-None-Match': '*' } }),
  sample(422, 'createKey', 'POST /api/keys', { json: { name: '  ', scopes: ['monitors:read'] } }),
  sample(200, 'deleteKey', 'DELETE /api/keys/2'),

  // Monitors
  sample(201, 'createMonitor', 'POST /api/monitors', { json: { friendly_name: 'Shop', url: 'https://example.com/health' } }),
  sample(422, 'createMonitor', 'POST /api/monitors', { json: { friendly_name: 'Inner', url: 'http://127.0.0.1/' } }),
  sample(422, 'createMonitor', 'POST /api/monitors', { json: { friendly_name: 'Shop', url: 'https://example.com', colour: 'red' } }),
  sample(400, 'createMonitor', 'POST /api/monitors', { raw: '{"url":', headers: { 'Content-Type': 'application/json' } }),
  sample(400, 'createMonitor', 'POST /api/monitors', {
    raw: '{"url": "https://example.com", "url": "https://example.org"}',
    headers: { 'Content-Type': 'application/json' },
  }),
  sample(200, 'listMonitors', 'GET /api/monitors?status=down&pageSize=50'),
  sample(422, 'listMonitors', 'GET /api/monitors?pageSize=0'),
  sample(401, 'listMonitors', 'GET /api/monitors', {}, 'anonymous'),
  sample(200, 'showMonitor', 'GET /api/monitors/1'),
  sample(200, 'updateMonitor', 'PUT /api/monitors/1', { json: { friendly_name: 'Shop (Europe)' } }),
  sample(200, 'updateMonitor', 'PUT /api/monitors/1', { json: { id: 1, status: 'pending', last_error: null, interval: 90 } }),
  sample(422, 'updateMonitor', 'PUT /api/monitors/1', { json: { status: 'sideways' } }),
  sample(304, 'listMonitors', 'GET /api/monitors', { headers: { 'If-None-Match': '*' } }),
  sample(415, 'updateMonitor', 'PUT /api/monitors/1', { form: { friendly_name: 'Shop' } }),
  sample(202, 'checkMonitor', 'POST /api/monitors/1/check'),
  sample(200, 'changeMonitors', 'POST /api/monitors/bulk', { json: { ids: [1], action: 'add_tags', tags: ['shop'] } }),
  sample(422, 'changeMonitors', 'POST /api/monitors/bulk', { json: { ids: [1], tag: 'shop', action: 'pause' } }),
  sample(422, 'createMonitor', 'POST /api/monitors', { json: { friendly_name: 'Job', url: 'https://example.com', type: 'heartbeat' } }),
  sample(422, 'createMonitor', 'POST /api/monitors', {
    json: { friendly_name: 'Shop', url: 'https://example.com', http: { headers: [{ name: 'Host', value: 'example.org' }] } },
  }),
  sample(200, 'getHeartbeat', `GET /api/heartbeats/${heartbeatToken}`, {}, 'anonymous'),
  sample(200, 'getHeartbeat', `HEAD /api/heartbeats/${heartbeatToken}`, {}, 'anonymous'),
  sample(200, 'sendHeartbeat', `POST /api/heartbeats/${heartbeatToken}`, { headers: { Origin: 'https://other.example' } }, 'anonymous'),
  sample(200, 'getHeartbeatFailure', `GET /api/heartbeats/${heartbeatToken}/fail`, {}, 'anonymous'),
  sample(200, 'sendHeartbeatFailure', `POST /api/heartbeats/${heartbeatToken}/fail`, { raw: 'exit 1' }, 'anonymous'),
  sample(405, '', `PUT /api/heartbeats/${heartbeatToken}`, {}, 'anonymous'),
  sample(200, 'listIncidents', 'GET /api/monitors/1/incidents?window=30d'),
  sample(422, 'listIncidents', 'GET /api/monitors/1/incidents?window=often'),

  sample(200, 'listAllIncidents', 'GET /api/incidents?window=30d&status=open&pageSize=10'),
  sample(422, 'listAllIncidents', 'GET /api/incidents?status=pending'),
  sample(200, 'acknowledgeIncident', 'POST /api/incidents/1/acknowledge'),
  sample(422, 'acknowledgeIncident', 'POST /api/incidents/first/acknowledge'),

  // Statistics
  sample(200, 'showStatistics', 'GET /api/monitors/1/statistics'),
  sample(200, 'showStatistics', 'GET /api/monitors/1/statistics?window=24h&resolution=5m'),
  sample(200, 'showStatistics', 'GET /api/monitors/1/statistics?window=1y'),
  sample(304, 'showStatistics', 'GET /api/monitors/1/statistics?window=30d', { headers: { 'If-None-Match': '*' } }),
  sample(422, 'showStatistics', 'GET /api/monitors/1/statistics?window=1h'),
  sample(422, 'showStatistics', 'GET /api/monitors/1/statistics?resolution=1m'),
  sample(200, 'listStatistics', 'GET /api/monitors/statistics?window=90d&status=up&sort=worst_first&pageSize=25'),
  sample(422, 'listStatistics', 'GET /api/monitors/statistics?window=1y'),
  sample(422, 'listStatistics', 'GET /api/monitors/statistics?pageSize=26'),
  sample(405, '', 'DELETE /api/monitors/statistics'),
  sample(200, 'showOverview', 'GET /api/statistics'),
  sample(304, 'showOverview', 'GET /api/statistics', { headers: { 'If-None-Match': '*' } }),
  sample(200, 'listChecks', 'GET /api/monitors/1/checks?outcome=down&pageSize=1000'),
  sample(422, 'listChecks', 'GET /api/monitors/1/checks?outcome=pending'),
  sample(422, 'listChecks', 'GET /api/monitors/1/checks?pageSize=1001'),

  // Providers and assignments
  sample(201, 'createProvider', 'POST /api/providers', { json: { provider_type: 'email', recipient_email: 'ops@example.com' } }),
  sample(422, 'createProvider', 'POST /api/providers', { json: { provider_type: 'pigeon' } }),
  sample(422, 'createProvider', 'POST /api/providers', { json: { provider_type: 'sms', name: ' ', phone_number: '+14155550123' } }),
  sample(422, 'createProvider', 'POST /api/providers', { json: { provider_type: 'slack', webhook_url: 'https://example.com/hook' } }),
  sample(201, 'createProvider', 'POST /api/providers', {
    json: { provider_type: 'webhook', webhook_url: 'https://board.example.com/hooks/sitekeeper' },
  }),
  sample(422, 'createProvider', 'POST /api/providers', { json: { provider_type: 'webhook', webhook_url: 'http://board.example.com/' } }),
  sample(200, 'rotateProviderSecret', 'POST /api/providers/2/rotate-secret'),
  sample(201, 'createProvider', 'POST /api/providers', {
    json: { provider_type: 'discord', webhook_url: 'https://discord.com/api/webhooks/1/x' },
  }),
  sample(201, 'createProvider', 'POST /api/providers', {
    json: { provider_type: 'teams', webhook_url: 'https://a.logic.azure.com/x?sig=y' },
  }),
  sample(201, 'createProvider', 'POST /api/providers', { json: { provider_type: 'pagerduty', routing_key: 'x'.repeat(32) } }),
  sample(422, 'createProvider', 'POST /api/providers', { json: { provider_type: 'discord', webhook_url: 'https://example.com/hook' } }),
  sample(422, 'createProvider', 'POST /api/providers', { json: { provider_type: 'pagerduty', routing_key: 'x'.repeat(31) } }),
  sample(200, 'listProviders', 'GET /api/providers'),
  sample(200, 'showProvider', 'GET /api/providers/1'),
  sample(200, 'updateProvider', 'PUT /api/providers/1', { json: { recipient_email: 'oncall@example.com' } }),
  sample(200, 'updateProvider', 'PUT /api/providers/1', { json: { name: 'Operations' } }),
  sample(200, 'updateProvider', 'PUT /api/providers/1', { json: { provider_type: 'email', recipient_email: 'ops@example.com' } }),
  sample(304, 'listProviders', 'GET /api/providers', { headers: { 'If-None-Match': '*' } }),
  sample(200, 'testProvider', 'POST /api/providers/1/test'),
  sample(200, 'listDeliveries', 'GET /api/providers/1/deliveries?status=sent'),
  sample(422, 'listDeliveries', 'GET /api/providers/1/deliveries?status=lost'),
  sample(202, 'redeliver', 'POST /api/deliveries/1/redeliver'),
  sample(201, 'addNotification', 'POST /api/monitors/1/notifications', { json: { provider_id: 1 } }),
  sample(422, 'addNotification', 'POST /api/monitors/1/notifications', { json: { provider_id: '1' } }),
  sample(200, 'listNotifications', 'GET /api/monitors/1/notifications'),
  sample(200, 'removeNotification', 'DELETE /api/monitors/1/notifications', { json: { provider_id: 1 } }),
  sample(200, 'deleteProvider', 'DELETE /api/providers/1'),
  sample(200, 'deleteMonitor', 'DELETE /api/monitors/1', { headers: { 'If-Match': '*' } }),

  // Users and sessions
  sample(201, 'createUser', 'POST /api/users', { json: { email: 'ana@example.com', password } }, 'anonymous'),
  sample(422, 'createUser', 'POST /api/users', { json: { email: 'ana', password: 'short' } }, 'anonymous'),
  sample(201, 'createSession', 'POST /api/session', { json: { email: 'ana@example.com', password } }, 'anonymous'),
  sample(
    403,
    'createSession',
    'POST /api/session',
    { json: { email: 'ana@example.com', password }, headers: { Origin: 'https://evil.example' } },
    'anonymous',
  ),
  sample(200, 'showSession', 'GET /api/session', {}, 'session'),
  sample(304, 'showSession', 'GET /api/session', { headers: { 'If-None-Match': '*' } }, 'session'),
  sample(401, 'showSession', 'GET /api/session'),
  sample(200, 'listWebsites', 'GET /api/v1/websites', {}, 'session'),
  sample(200, 'changePassword', 'PUT /api/session/password', { json: { current: password, new: 'another staple altogether' } }, 'session'),
  sample(200, 'showSession', 'GET /api/session', {}, 'session'),
  sample(403, 'deleteSession', 'DELETE /api/session', { headers: { 'Sec-Fetch-Site': 'cross-site' } }, 'session'),
  sample(200, 'deleteSession', 'DELETE /api/session', {}, 'session'),
];

function sample(status: number, operation: string, line: string, options: Sample['options'] = {}, as: Sample['as'] = 'key'): Sample {
  const [method = '', path = ''] = line.split(' ');
  return { status, operation, method, path, as, options };
}

function twice(name: string, value: string): [string, string][] {
  return [
    [name, value],
    [name, value],
  ];
}
