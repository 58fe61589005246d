// Setups that cause each response that the contract names, without mocks: they use a key without the scope, another user or
// a limit that is reached. A setup is looked up by "<operation> <example>", then by "<example>". Responses without an example
// are looked up by their status. A setup changes the valid request that it is given.
import { createKey as createOwnKey } from '../../../src/accounts/keys.ts';
import { generateKey } from '../../../src/auth/api-key.ts';
import { allScopes } from '../../../src/auth/scopes.ts';
import {
  type Body,
  createKey,
  createMonitor,
  createProvider,
  createWebsite,
  encodeBody,
  password,
  pathOf,
  signIn,
  validRequest,
  withInvalidInput,
} from '../../support/valid-requests.ts';
import { scripts, type WebServer } from '../../support/web-server.ts';
import { authorization, type Draft, send } from './draft.ts';

type Setup = (draft: Draft) => void | Promise<void>;

export const setups: Record<string, Setup> = {
  // Successful responses that need more than the valid request.
  'listWebsites two_websites': async (draft) => {
    await createWebsite(draft);
    await createWebsite(draft, { privacy: '2', password });
  },
  'verifyWebsitePassword does_not_open': withBody({ password: 'not the password' }),
  // A list requested with a key contains that key, so only a user who has just signed up has no keys.
  'listKeys none': async (draft) => {
    const { body } = await draft.service.anonymous.post('/api/users', { json: (await validRequest('createUser', draft)).json });
    draft.owner = body.data;
    draft.request.headers = await signIn(draft.service, body.data.email);
  },
  'deleteKey deleted': async (draft) => {
    const json = { name: 'Created with the calling key', scopes: ['monitors:read'] };
    const { body } = await draft.service.anonymous.post('/api/keys', { json, headers: draft.request.headers });
    draft.request.parameters = { id: body.data.id };
  },
  'listMonitors two_monitors': async (draft) => {
    await createMonitor(draft, { type: 'ping', url: 'router.example.net' });
    await createMonitor(draft);
  },
  'listIncidents resolved': (draft) => addIncident(draft, '8 minutes'),
  'listIncidents open': (draft) => addIncident(draft, null),
  'listNotifications two_providers': async (draft) => {
    for (const enabled of [true, false]) {
      const json = { provider_id: await createProvider(draft), enabled };
      await draft.user.api.post(`/api/monitors/${draft.request.parameters.id}/notifications`, { json });
    }
  },
  'addNotification set': sendFirst,
  'addNotification 200': sendFirst,
  'listProviders one_of_each': async (draft) => {
    for (const type of ['email', 'slack', 'telegram', 'sms']) await createProvider(draft, type);
  },
  'showProvider slack': showProviderOfType('slack'),
  'showProvider telegram': showProviderOfType('telegram'),
  'showProvider sms': showProviderOfType('sms'),

  // 304
  '304': sendIfNoneMatch,
  // With a key, the first request would change when the key was last used, and so the list.
  'listKeys 304': async (draft) => {
    draft.owner = draft.user = await draft.service.createUser(password);
    draft.request.headers = await signIn(draft.service, draft.user.email);
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
  unauthenticated: withHeaders({}),
  invalid_key: (draft) => withHeaders({ Authorization: `Bearer ${generateKey()}` })(draft),
  invalid_session: withHeaders({ Cookie: `sitekeeper_session=${'A'.repeat(43)}` }),
  invalid_credentials: withBody({ password: 'not the password' }),

  // 403
  missing_scope: async (draft) => {
    const others = allScopes.filter((scope) => !draft.operation.scopes.includes(scope));
    draft.request.headers = await authorization(draft.user, { scopes: others });
  },
  cross_origin: async (draft) => {
    const isOpen = draft.operation.credentials.length === 0;
    const cookie = isOpen ? {} : await signIn(draft.service, (await draft.service.createUser(password)).email);
    draft.request.headers = { ...cookie, 'Sec-Fetch-Site': 'cross-site' };
  },
  scope_not_held: async (draft) => {
    draft.request.headers = await authorization(draft.user, { scopes: ['monitors:read'] });
    draft.request.json = { name: 'More scopes than its creator', scopes: ['providers:write'] };
  },
  expiry_beyond_own: async (draft) => {
    draft.request.headers = await authorization(draft.user, { expires_at: inDays(1) });
    draft.request.json = { name: 'Expires later than its creator', scopes: ['monitors:read'], expires_at: inDays(2) };
  },
  not_your_key: async (draft) => {
    draft.request.parameters = { id: await createKey(draft) };
  },
  signup_closed: useRestrictedService,

  // 404: the owner's request, sent by another user
  not_found: async (draft) => {
    draft.request.headers = await authorization(await draft.service.createUser());
  },
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
    await environment.main.database.asUser(user.id, async (em) => {
      const [{ count } = { count: 0 }] = await em.execute<{ count: number }[]>('select count(*)::int as count from api_keys');
      for (let number = count; number < 100; number++) {
        await createOwnKey(em, { userId: user.id, name: 'Another key', scopes: ['monitors:read'] });
      }
    });
  },
  email_taken: sendFirst,
  'createWebsite already_created': async (draft) => {
    await withBody({ exclude_params: 'x'.repeat(8192) })(draft);
    draft.request.headers['Idempotency-Key'] = 'once';
    await send(draft);
  },
  already_created: async (draft) => {
    draft.request.headers['Idempotency-Key'] = 'once';
    await send(draft);
  },
  monitor_paused: async (draft) => {
    await draft.user.api.put(`/api/monitors/${draft.request.parameters.id}`, { json: { is_active: false } });
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
  field_of_other_type: withBody({ webhook_url: 'https://hooks.slack.com/services/T0/B0/of-another-type' }),
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

  // The session must still exist, so another operation uses up the limit.
  'deleteSession rate_limited': useUpSessionLimit,
  'changePassword rate_limited': useUpSessionLimit,

  // 431
  headers_too_large: ({ request }) => {
    for (let number = 1; number <= 200; number++) request.headers[`X-Header-${number}`] = '1';
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

/** A change for each kind of resource. */
const changes: Record<string, { form?: Record<string, string>; json?: Body }> = {
  websites: { form: { favorite: '1' } },
  monitors: { json: { friendly_name: 'Changed' } },
  providers: { json: { recipient_email: 'changed@example.com' } },
};

function withBody(fields: Body): Setup {
  return ({ request, operation }) => void Object.assign(request, encodeBody(operation, { ...request.json, ...request.form, ...fields }));
}

/** Replaces all headers of the valid request, including the credentials. */
function withHeaders(headers: Record<string, string>): Setup {
  return ({ request }) => {
    request.headers = headers;
  };
}

function withHeader(name: string, value: string): Setup {
  return ({ request }) => {
    request.headers[name] = value;
  };
}

async function useUpSessionLimit(draft: Draft) {
  draft.service = draft.environment.rateLimited;
  await draft.service.anonymous.get('/api/session', { headers: draft.request.headers });
}

function sendInvalidInput(draft: Draft) {
  draft.request = withInvalidInput(draft.operation, draft.request);
}

function useRestrictedService(draft: Draft) {
  draft.service = draft.environment.restricted;
}

async function sendIfNoneMatch(draft: Draft) {
  const { headers } = await send(draft);
  draft.request.headers['If-None-Match'] = headers.get('ETag') ?? '';
}

async function sendFirst(draft: Draft) {
  await send(draft);
}

function showProviderOfType(type: string): Setup {
  return async (draft) => {
    draft.request.parameters = { id: await createProvider(draft, type) };
  };
}

/** Replaces the script of a receiver until the response has arrived. */
function replaceScript(draft: Draft, server: WebServer, script: WebServer['script']) {
  const original = server.script;
  server.script = script;
  draft.cleanUp = () => {
    server.script = original;
  };
}

async function addIncident({ environment, user, request }: Draft, duration: string | null) {
  await environment.main.database.asUser(user.id, (em) =>
    em.execute(
      `insert into incidents (user_id, monitor_id, started_at, resolved_at, cause, status_code)
       values (?, ?, now() - interval '1 hour', now() - interval '1 hour' + ?::interval, 'HTTP 503', 503)`,
      [user.id, Number(request.parameters.id), duration],
    ),
  );
}

function inDays(days: number): string {
  return new Date(Date.now() + days * 24 * 3600 * 1000).toISOString();
}
