// Setups that cause each response that the contract names, without mocks: they use a key without the scope, another user, a
// limit that is reached, or a service whose database fails. A setup is looked up by "<operation> <example>", then by "<example>". Responses without an example
// are looked up by their status. A setup changes the valid request that it is given.
import type { components } from '../../../generated/types/monitoring.ts';
import { generateKey } from '../../../src/auth/api-key.ts';
import { allScopes } from '../../../src/auth/scopes.ts';
import { holdRequest } from '../../support/held-request.ts';
import {
  type Body,
  createHeartbeat,
  createKey,
  createMonitor,
  createProvider,
  createWebsite,
  password,
  pathOf,
  signIn,
  validRequest,
} from '../../support/valid-requests.ts';
import { scripts } from '../../support/web-server.ts';
import { authorization, send } from './draft.ts';
import {
  addChecks,
  addDelivery,
  addIncident,
  addIncidentOf,
  changes,
  checksInEachPeriod,
  inDays,
  replaceScript,
  type Setup,
  sendFirst,
  sendIfNoneMatch,
  sendInvalidInput,
  setCredentials,
  showProviderOfType,
  useRestrictedService,
  useUpSessionLimit,
  withBody,
  withHeader,
} from './setup-steps.ts';

export const setups: Record<string, Setup> = {
  // Successful responses that need more than the valid request.
  'listWebsites two_websites': async (draft) => {
    // The examples of the parameters ask for favorites.
    for (const fields of [{}, { privacy: '2', password }]) {
      const { id } = await createWebsite(draft, fields);
      await draft.user.api.patch(`/api/v1/websites/${id}`, { form: { favorite: '1' } });
    }
  },
  'verifyWebsitePassword does_not_open': withBody({ password: 'not the password' }),
  // A list requested with a key contains that key, so only a user who has just signed up has no keys.
  'listKeys none': async (draft) => {
    const { body } = await draft.service.anonymous.post('/api/users', { json: (await validRequest('createUser', draft)).json });
    draft.owner = body.data;
    setCredentials(draft, await signIn(draft.service, body.data.email));
  },
  'deleteKey deleted': async (draft) => {
    const json = { name: 'Created with the calling key', scopes: ['monitors:read'] };
    const { body } = await draft.service.anonymous.post('/api/keys', { json, headers: draft.request.headers });
    draft.request.parameters = { id: body.data.id };
  },
  'listMonitors of_every_type': async (draft) => {
    // The examples of the parameters would filter out most of the monitors.
    const { status, type, tag, website_id, search, sort, ...query } = draft.request.query ?? {};
    draft.request.query = query;
    await createMonitor(draft, { type: 'tcp', url: 'tcp://db.example.net:5432', http: undefined });
    await createMonitor(draft, { type: 'ping', url: 'router.example.net', http: undefined });
    await createMonitor(draft);
    await createHeartbeat(draft);
  },
  'showMonitor ping': useMonitor({ type: 'ping', url: 'router.example.net', http: undefined }),
  'showMonitor tcp': useMonitor({ type: 'tcp', url: 'tcp://db.example.net:5432', http: undefined }),
  'showMonitor heartbeat': useHeartbeat,
  'showMonitor secret_header': useMonitor({ http: { headers: [{ name: 'Authorization', value: 'Bearer example-token-0123456789' }] } }),
  'showMonitor maintenance': useMonitor({ maintenance_until: '2099-12-31T23:00:00.000Z' }),
  'checkMonitor tcp': useMonitor({ type: 'tcp', url: 'tcp://db.example.net:5432', http: undefined }),
  'checkMonitor ping': useMonitor({ type: 'ping', url: 'router.example.net', http: undefined }),
  'checkMonitor secret_header': useMonitor({ http: { headers: [{ name: 'Authorization', value: 'Bearer example-token-0123456789' }] } }),
  'updateMonitor tcp': useMonitor({ type: 'tcp', url: 'tcp://db.example.net:5432', http: undefined }),
  'updateMonitor ping': useMonitor({ type: 'ping', url: 'router.example.net', http: undefined }),
  'updateMonitor heartbeat': useHeartbeat,
  ...forHeartbeats('ignored', async (draft) => {
    const { id, path } = await createHeartbeat(draft);
    await draft.user.api.put(`/api/monitors/${id}`, { json: { is_active: false } });
    draft.request.parameters = { token: path.split('/').at(-1) ?? '' };
  }),
  'listIncidents resolved': (draft) => addIncident(draft, '8 minutes'),
  'listIncidents open': (draft) => addIncident(draft, null),
  'listAllIncidents of_two_monitors': async (draft) => {
    // The example of the parameter would leave out the resolved incident.
    const { status, ...query } = draft.request.query ?? {};
    draft.request.query = query;
    await addIncidentOf(draft, await createMonitor(draft), '8 minutes');
    await addIncidentOf(draft, await createMonitor(draft), null); // The newest one is listed first.
  },
  'listAllIncidents only_open': async (draft) => {
    draft.request.query = { status: 'open' };
    for (const duration of [null, '8 minutes']) await addIncidentOf(draft, await createMonitor(draft), duration);
  },
  // In these, the examples of the parameters would ask for other windows, buckets, monitors or checks.
  'showStatistics last_24_hours': async (draft) => {
    draft.request.query = {};
    await addChecks(draft, Number(draft.request.parameters.id), checksInEachPeriod(24, 3600));
    await addIncident(draft, '8 minutes');
  },
  'showStatistics bad_day': async (draft) => {
    draft.request.query = { window: '30d' };
    await addChecks(draft, Number(draft.request.parameters.id), checksInEachPeriod(30, 24 * 3600));
    await addIncident(draft, '8 minutes');
  },
  'showStatistics not_checked_yet': (draft) => {
    draft.request.query = {};
  },
  'listStatistics two_monitors': async (draft) => {
    draft.request.query = {};
    for (const duration of [null, '8 minutes']) {
      const id = await createMonitor(draft);
      await addChecks(draft, id, checksInEachPeriod(24, 3600));
      await addIncidentOf(draft, id, duration);
    }
  },
  'showOverview some_down': async (draft) => {
    const ids: number[] = [];
    for (let count = 0; count < 4; count++) ids.push(await createMonitor(draft));
    for (const id of ids) await addChecks(draft, id, checksInEachPeriod(24, 3600));
    const [down] = ids;
    await addIncidentOf(draft, Number(down), null);
    await draft.service.database.asUser(draft.user.id, (em) =>
      em.execute(`update monitors set status = case when id = ? then 'down' else 'up' end`, [down], 'run'),
    );
  },
  'listChecks outage': async (draft) => {
    draft.request.query = {};
    const listed = (draft.responseExample?.value.data ?? []) as components['schemas']['Check'][];
    const newestMs = Date.parse(listed[0]?.checked_at ?? '');
    const checks = listed.map(({ checked_at, outcome, response_time_ms, status_code, cause }) => ({
      secondsAgo: (newestMs - Date.parse(checked_at)) / 1000,
      up: outcome === 'up',
      ...(response_time_ms !== null && { ms: response_time_ms }),
      ...(status_code !== null && { statusCode: status_code }),
      ...(cause !== null && { cause }),
    }));
    await addChecks(draft, Number(draft.request.parameters.id), checks.toReversed());
  },
  'listDeliveries log': async (draft) => {
    draft.request.query = {}; // The example of the parameter would leave out what was sent.
    const providerId = Number(draft.request.parameters.id);
    await addDelivery(draft, { providerId, kind: 'test', status: 'sent' });
    const incidentId = await addIncidentOf(draft, await createMonitor(draft), '8 minutes');
    await addDelivery(draft, { providerId, kind: 'monitor.down', status: 'sent', incidentId });
    await addDelivery(draft, { providerId, kind: 'monitor.recovered', status: 'queued', incidentId });
  },
  'listNotifications two_providers': async (draft) => {
    for (const enabled of [true, false]) {
      const json = { provider_id: await createProvider(draft), enabled };
      await draft.user.api.post(`/api/monitors/${draft.request.parameters.id}/notifications`, { json });
    }
  },
  'addNotification delayed': withBody({ delay_seconds: 300, remind_every_seconds: 3600 }),
  'addNotification set': sendFirst,
  'addNotification 200': sendFirst,
  'listProviders one_of_each': async (draft) => {
    for (const type of ['email', 'slack', 'telegram', 'sms', 'discord', 'teams', 'pagerduty', 'webhook']) await createProvider(draft, type);
  },
  'showProvider slack': showProviderOfType('slack'),
  'showProvider telegram': showProviderOfType('telegram'),
  'showProvider sms': showProviderOfType('sms'),
  'showProvider webhook': showProviderOfType('webhook'),
  'showProvider discord': showProviderOfType('discord'),
  'showProvider teams': showProviderOfType('teams'),
  'showProvider pagerduty': showProviderOfType('pagerduty'),

  // 304
  '304': sendIfNoneMatch,
  // The statistics of two requests can differ, because they end when they are returned.
  'showStatistics 304': withHeader('If-None-Match', '*'),
  // With a key, the first request would change when the key was last used, and so the list.
  'listKeys 304': async (draft) => {
    draft.owner = draft.user = await draft.service.createUser(password);
    setCredentials(draft, await signIn(draft.service, draft.user.email));
    await sendIfNoneMatch(draft);
  },

  // 400
  malformed_encoding: (draft) => {
    const query = draft.operation.parameters.find((parameter) => parameter.in === 'query');
    if (query) draft.rawQuery = `${query.name}=%FF`;
    else draft.rawBody = draft.request.form ? 'domain=%FF' : Buffer.from([0x22, 0xff, 0x22]);
  },
  malformed_json: (draft) => {
    draft.rawBody = '{"name": "x",}';
  },
  duplicate_key: (draft) => {
    const [field] = Object.keys(draft.request.json ?? {});
    draft.rawBody = `{"${field}": "a", "${field}": "b"}`;
  },

  // 401
  unauthenticated: (draft) => setCredentials(draft, {}),
  invalid_key: (draft) => setCredentials(draft, { Authorization: `Bearer ${generateKey()}` }),
  invalid_session: (draft) => setCredentials(draft, { Cookie: `sitekeeper_session=${'A'.repeat(43)}` }),
  invalid_credentials: withBody({ password: 'not the password' }),

  // 403
  missing_scope: async (draft) => {
    const others = allScopes.filter((scope) => !draft.operation.scopes.includes(scope));
    setCredentials(draft, await authorization(draft.user, { scopes: others }));
  },
  cross_origin: async (draft) => {
    const isOpen = draft.operation.credentials.length === 0;
    const cookie = isOpen ? {} : await signIn(draft.service, (await draft.service.createUser(password)).email);
    setCredentials(draft, cookie);
    draft.request.headers['Sec-Fetch-Site'] = 'cross-site';
  },
  scope_not_held: async (draft) => {
    setCredentials(draft, await authorization(draft.user, { scopes: ['monitors:read'] }));
    draft.request.json = { name: 'More scopes than its creator', scopes: ['providers:write'] };
  },
  expiry_beyond_own: async (draft) => {
    setCredentials(draft, await authorization(draft.user, { expires_at: inDays(1) }));
    draft.request.json = { name: 'Expires later than its creator', scopes: ['monitors:read'], expires_at: inDays(2) };
  },
  not_your_key: async (draft) => {
    draft.request.parameters = { id: await createKey(draft) };
  },
  signup_closed: useRestrictedService,

  // 404: the owner's request, sent by another user
  not_found: async (draft) => {
    setCredentials(draft, await authorization(await draft.service.createUser()));
  },
  'createMonitor website_not_found': withBody({ website_id: Number.MAX_SAFE_INTEGER }),
  'updateMonitor website_not_found': withBody({ website_id: Number.MAX_SAFE_INTEGER }),
  'changeMonitors not_found': (draft) => {
    draft.request.json = { action: 'assign', tag: 'production', provider_id: Number.MAX_SAFE_INTEGER };
  },
  ...forHeartbeats('not_found', sendUnknownToken),
  'addNotification provider_not_found': withBody({ provider_id: Number.MAX_SAFE_INTEGER }),
  'removeNotification not_assigned': withBody({ provider_id: Number.MAX_SAFE_INTEGER }),

  // 406, 412, 413, 415
  not_acceptable: withHeader('Accept', 'text/html'),
  precondition_failed: async (draft) => {
    const item = pathOf(draft.operation, draft.request);
    const { headers } = await draft.user.api.get(item);
    await draft.user.api.put(item, changes[item.split('/').at(-2) ?? '']);
    draft.request.headers['If-Match'] = headers.get('ETag') ?? '';
  },
  body_too_large: (draft) => {
    draft.rawBody = `${draft.request.form ? 'domain=' : ''}${'x'.repeat(256 * 1024 + 1)}`;
  },
  unsupported_media_type: withHeader('Content-Type', 'text/plain'),

  // 409
  domain_taken: async (draft) => {
    await createWebsite(draft, { domain: draft.request.form?.domain ?? '' });
  },
  quota_exceeded: useRestrictedService,
  'createKey quota_exceeded': async ({ environment, user }) => {
    await environment.main.database.asUser(user.id, (em) =>
      em.execute(
        `insert into api_keys (user_id, name, scopes, prefix, key_hash)
         select ?, 'Another key', '{monitors:read}', 'stkp_0000', sha256(convert_to(? || number, 'UTF8'))
           from generate_series((select count(*) from api_keys) + 1, 100) number`,
        [user.id, `${user.id} `],
      ),
    );
  },
  email_taken: sendFirst,
  'createWebsite already_created': async (draft) => {
    await withBody({ exclude_params: 'x'.repeat(8192) })(draft);
    draft.request.headers['Idempotency-Key'] = 'once';
    await send(draft);
  },
  'createMonitor already_created': async (draft) => {
    draft.request.json = { friendly_name: 'Nightly backup', type: 'heartbeat' };
    draft.request.headers['Idempotency-Key'] = 'once';
    await send(draft);
  },
  // Only the response about a webhook contains a secret.
  'createProvider already_created': async (draft) => {
    draft.request.json = (await validRequest('createProvider', draft, 'webhook')).json ?? {};
    draft.request.headers['Idempotency-Key'] = 'once';
    await send(draft);
  },
  already_created: async (draft) => {
    draft.request.headers['Idempotency-Key'] = 'once';
    await send(draft);
  },
  request_in_progress: async (draft) => {
    draft.request.headers['Idempotency-Key'] = 'in-progress';
    const path = pathOf(draft.operation, draft.request);
    draft.cleanUp = await holdRequest(draft.environment.main.database, draft.user.id, `POST ${path} in-progress`);
  },
  monitor_paused: async (draft) => {
    await draft.user.api.put(`/api/monitors/${draft.request.parameters.id}`, { json: { is_active: false } });
  },
  incident_resolved: async (draft) => {
    await draft.service.database.asEngine((em) =>
      em.execute('update incidents set resolved_at = started_at where id = ?', [Number(draft.request.parameters.id)], 'run'),
    );
  },

  recipient_unconfirmed: async (draft) => {
    const id = await createProvider(draft);
    await draft.service.database.asUser(draft.user.id, (em) =>
      em.execute('update providers set recipient_unconfirmed = true where id = ?', [id], 'run'),
    );
    draft.request.parameters = { id };
  },
  no_signing_secret: async (draft) => {
    draft.request.parameters = { id: await createProvider(draft) };
  },
  nothing_to_check: async (draft) => {
    draft.request.parameters = { id: (await createHeartbeat(draft)).id };
  },

  // 422
  validation_failed: sendInvalidInput,
  invalid_domain: sendInvalidInput,
  bad_line: withBody({ exclude_ips: '192.0.2.7\nnot an address' }),
  bad_domain: withBody({ domain: '192.0.2.7' }),
  domain_immutable: withBody({ domain: 'other.example' }),
  password_needed: withBody({ privacy: 2 }),
  two_errors: (draft) => {
    draft.request.json = { url: 'https://shop.example.org/', interval: 5 };
  },
  address_not_allowed: withBody({ url: 'http://127.0.0.1/' }),
  'createMonitor field_of_other_type': (draft) => {
    draft.request.json = { friendly_name: 'Office router', type: 'ping', url: 'router.example.net', http: {} };
  },
  'updateMonitor field_of_other_type': withBody({ heartbeat: {} }),
  secrets_needed: async (draft) => {
    await useMonitor({ http: { headers: [{ name: 'Authorization', value: 'Bearer example-token-0123456789' }] } })(draft);
    draft.request.json = { url: 'https://other.example.org/' };
  },
  unknown_mask: withBody({ http: { headers: [{ name: 'Authorization', value: '****6789' }] } }),
  field_of_other_type: withBody({ webhook_url: 'https://hooks.slack.com/services/T0/B0/of-another-type' }),
  invalid_webhook: (draft) => {
    draft.request.json = { provider_type: 'webhook', webhook_url: 'http://198.51.100.7/hooks/sitekeeper' };
  },
  bad_phone_number: (draft) => {
    draft.request.json = { provider_type: 'sms', phone_number: '0123' };
  },
  wrong_password: withBody({ current: 'not the password' }),
  too_short: withBody({ new: 'short' }),
  idempotency_key_reused: async (draft) => {
    draft.request.headers['Idempotency-Key'] = 'twice';
    const another = Object.keys(draft.operation.body?.examples ?? {}).at(-1);
    const first = await validRequest(draft.operation.id, draft, another);
    const { headers, parameters } = draft.request; // Another path would be another request.
    await send({ ...draft, request: { ...first, headers, parameters } });
  },

  // 429
  rate_limited: async (draft) => {
    draft.service = draft.environment.rateLimited;
    await send(draft);
  },

  // The limit of a token is always the same.
  ...forHeartbeats('rate_limited', async (draft) => {
    for (let count = 0; count < 60; count++) await send(draft);
  }),

  // The session must still exist, so another operation uses up the limit.
  'deleteSession rate_limited': useUpSessionLimit,
  'changePassword rate_limited': useUpSessionLimit,

  // 431
  headers_too_large: ({ request }) => {
    for (let number = 1; number <= 200; number++) request.headers[`X-Header-${number}`] = '1';
  },

  // 500 and 503
  internal_error: (draft) => {
    draft.service = draft.environment.broken;
  },
  unavailable: (draft) => {
    draft.service = draft.environment.disconnected;
  },

  // 502 and 503 of testProvider
  rejected: async (draft) => {
    const { slack, providers } = draft.environment.receivers;
    draft.request.parameters = { id: await createProvider(draft, 'slack', providers.slack) };
    replaceScript(draft, slack, scripts.respond('no_service', 404));
  },
  unreachable: async (draft) => {
    draft.request.parameters = { id: await createProvider(draft, 'telegram') };
    replaceScript(draft, draft.environment.receivers.telegram, scripts.reset());
  },
  delivery_not_configured: useRestrictedService,
};

function forHeartbeats(example: string, setup: Setup): Record<string, Setup> {
  const operations = ['getHeartbeat', 'sendHeartbeat', 'getHeartbeatFailure', 'sendHeartbeatFailure'];
  return Object.fromEntries(operations.map((operation) => [`${operation} ${example}`, setup]));
}

/** Replaces the monitor of the request with one that has these fields. */
function useMonitor(fields: Body): Setup {
  return async (draft) => {
    draft.request.parameters = { id: await createMonitor(draft, fields) };
  };
}

async function useHeartbeat(draft: Parameters<Setup>[0]) {
  draft.request.parameters = { id: (await createHeartbeat(draft)).id };
}

function sendUnknownToken(draft: Parameters<Setup>[0]) {
  draft.request.parameters = { token: 'x'.repeat(32) };
}
