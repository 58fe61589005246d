// Every field that a client can write is stored: it is read back after creation and after an update. The fields come from the
// contract. A field without samples fails here, and so does one that is accepted but not stored.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiKeyEntity } from '../../src/accounts/api-key.entity.ts';
import { SessionEntity } from '../../src/accounts/session.entity.ts';
import { UserEntity } from '../../src/accounts/user.entity.ts';
import { columnsOf } from '../../src/db/tables.ts';
import { entities } from '../../src/entities.ts';
import { IncidentEntity } from '../../src/monitoring/incidents/incident.entity.ts';
import { MonitorEntity } from '../../src/monitoring/monitors/monitor.entity.ts';
import { ProviderEntity } from '../../src/monitoring/providers/provider.entity.ts';
import { WebsiteEntity } from '../../src/websites/website.entity.ts';
import type { ApiResponse } from '../support/api-client.ts';
import { bundles, operations } from '../support/contract-operations.ts';
import { dereference } from '../support/dereference.ts';
import type { Schema } from '../support/schema-values.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

type Values = Record<string, unknown>;

interface Resource {
  collection: string;
  /** The schemas of the bodies that create and update it, with the fields that the operations accept. */
  create: Schema;
  update?: Schema;
  format: 'form' | 'json';
  /** The fields that every creation needs. They are unique for each `turn`. */
  required(turn: number): Values;
  /** Two valid values of each field. The first is not the default, and the second differs from it if a field can be changed. */
  samples: Record<string, [created: unknown, updated: unknown]>;
  /** The fields that are returned in another form. */
  shown?: Record<string, (value: unknown) => Values>;
  /** Fields that the update accepts and ignores, or that cannot be changed. */
  unchanging?: string[];
  /** Reads the resource. By default, with GET of its own path. */
  read?(created: Values): Promise<ApiResponse>;
}

const { schemas: websiteSchemas } = (dereference(bundles.websites) as { components: { schemas: Record<string, Schema> } }).components;
const { schemas } = (dereference(bundles.monitoring) as { components: { schemas: Record<string, Schema> } }).components;
const masked = (field: string) => (value: unknown) => ({ [field]: `****${String(value).slice(-4)}` });
const readOnly = ['id', 'created_at', 'updated_at'];
const monitorReadOnly = [
  ...readOnly,
  'status',
  'heartbeat_url',
  'tls_expires_at',
  'last_checked_at',
  'last_response_time_ms',
  'last_error',
];

/** All options of an http check. Each differs from its default. */
const allOptions = {
  method: 'POST',
  headers: [
    { name: 'Authorization', value: 'Bearer example-token-1234567890', secret: true },
    { name: 'Accept', value: 'text/plain', secret: false },
  ],
  body: '{"dry_run":true}',
  expected_status: ['200', '301-308', '4xx'],
  body_contains: 'ready',
  body_not_contains: 'error',
  json: { pointer: '/status', equals: 'ok' },
  follow_redirects: false,
  verify_tls: false,
  tls_warning_days: 30,
};
const otherOptions = {
  ...allOptions,
  method: 'PUT',
  headers: [],
  body: 'x',
  expected_status: ['204'],
  body_contains: 'up',
  body_not_contains: null,
  json: { pointer: '', equals: null },
  tls_warning_days: null,
};

function shownOptions({ headers, ...options }: typeof allOptions) {
  return { ...options, headers: headers.map(({ value, ...header }) => ({ ...header, value: header.secret ? '****7890' : value })) };
}

/** The part of a schema that has these fields. */
function ownFields(schema: Schema | undefined, ...names: string[]): Schema {
  const own = Object.entries(schema?.properties ?? {}).filter(([name]) => names.includes(name));
  return { properties: Object.fromEntries(own) };
}

let service: TestService;
let user: TestUser;
let monitorId: number;
let websiteId: number;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
  const { body } = await user.api.post('/api/monitors', { json: { friendly_name: 'Shop', url: 'https://shop.example' } });
  monitorId = body.data.id;
  websiteId = (await user.api.post('/api/v1/websites', { form: { domain: 'shop.example' } })).body.data.id;
});
afterAll(() => service.stop());

/** Finds a row in a list whose resources have no path of their own. */
async function findIn(path: string, id: unknown, key = 'id'): Promise<ApiResponse> {
  const list = await user.api.get(path);
  return { ...list, body: { data: list.body.data.find((row: Values) => row[key] === id) } };
}

const provider = (
  type: string,
  required: (turn: number) => Values,
  samples: Resource['samples'],
  rest: Partial<Resource> = {},
): Resource => {
  const variant = schemas.ProviderCreate?.oneOf?.find(({ properties }) => properties?.provider_type?.enum?.[0] === type) ?? {};
  const { properties = {} } = schemas.ProviderUpdate ?? {};
  const own = Object.entries(properties).filter(([field]) => field in (variant.properties ?? {}));
  return {
    collection: '/api/providers',
    create: variant,
    update: { properties: Object.fromEntries(own) },
    format: 'json',
    required: (turn) => ({ provider_type: type, ...required(turn) }),
    samples: { provider_type: [type, type], name: ['Operations', 'Support'], ...samples },
    ...rest,
  };
};

const token = (end: string) => `123456789:${'A'.repeat(30)}${end}`;

const resources: Record<string, Resource> = {
  website: {
    collection: '/api/v1/websites',
    create: websiteSchemas.WebsiteCreate ?? {},
    update: websiteSchemas.WebsiteUpdate ?? {},
    format: 'form',
    required: (turn) => ({ domain: `site-${turn}.example` }),
    samples: {
      domain: ['other.example', undefined],
      privacy: [1, 0],
      password: ['sesame', 'open'],
      email: [1, 0],
      exclude_bots: [0, 1],
      exclude_params: ['utm_source\nref', 'gclid'],
      exclude_ips: ['192.0.2.7', '198.51.100.0/24\n2001:db8::1'],
      favorite: [true, false],
    },
    shown: { password: () => ({ has_password: true }) },
  },
  monitor: {
    collection: '/api/monitors',
    create: schemas.MonitorCreate ?? {},
    update: schemas.MonitorUpdate ?? {},
    format: 'json',
    required: (turn) => ({ friendly_name: `M${turn}`, url: 'https://shop.example' }),
    samples: {
      friendly_name: ['Checkout', 'Cart'],
      url: ['https://checkout.example/health', 'https://cart.example/'],
      type: ['http', 'ping'],
      http: [otherOptions, allOptions],
      interval: [300, 3600],
      timeout_seconds: [1, 30],
      confirmations: [0, 5],
      is_active: [false, true],
      tags: [['production', 'team-web'], ['staging']],
      get website_id(): [number, null] {
        return [websiteId, null];
      },
      maintenance_until: ['2099-12-31T23:00:00.000Z', '2098-01-01T00:00:00.000Z'],
    },
    shown: {
      http: (sent) => ({ http: shownOptions(sent as typeof allOptions) }),
      // Its options belong to the old type.
      type: (type) => ({ type, ...(type !== 'http' && { http: undefined }) }),
    },
    unchanging: [...monitorReadOnly, 'heartbeat'],
  },
  'heartbeat monitor': {
    collection: '/api/monitors',
    create: ownFields(schemas.MonitorCreate, 'type', 'heartbeat', 'interval'),
    update: ownFields(schemas.MonitorUpdate, 'type', 'heartbeat', 'interval'),
    format: 'json',
    required: (turn) => ({ friendly_name: `H${turn}`, type: 'heartbeat' }),
    samples: {
      type: ['heartbeat', 'heartbeat'],
      heartbeat: [{ grace_seconds: 0 }, { grace_seconds: 86_400 }],
      interval: [300, 3600],
    },
  },
  'e-mail provider': provider('email', (turn) => ({ recipient_email: `ops-${turn}@example.com` }), {
    recipient_email: ['a@example.com', 'b@example.com'],
  }),
  'Slack provider': provider(
    'slack',
    () => ({ webhook_url: 'https://hooks.slack.com/services/T/B/one' }),
    {
      webhook_url: ['https://hooks.slack.com/services/T/B/first', 'https://hooks.slack.com/services/T/B/other'],
      channel: ['#ops', '#alerts'],
      username: ['Keeper', 'Watcher'],
    },
    { shown: { webhook_url: masked('webhook_url') } },
  ),
  'Telegram provider': provider(
    'telegram',
    () => ({ chat_id: '-100', token: token('1') }),
    { chat_id: [-12345, '@example_alerts'], token: [token('2'), token('3')] },
    { shown: { token: masked('token'), chat_id: (value) => ({ chat_id: String(value) }) } },
  ),
  'SMS provider': provider('sms', () => ({ phone_number: '+14155550100' }), { phone_number: ['+14155550101', '+14155550102'] }),
  'webhook provider': provider(
    'webhook',
    () => ({ webhook_url: 'https://board.example.com/hooks/one' }),
    { webhook_url: ['https://board.example.com/hooks/first', 'https://board.example.com/hooks/other'] },
    { shown: { webhook_url: masked('webhook_url') } },
  ),
  'Discord provider': provider(
    'discord',
    () => ({ webhook_url: 'https://discord.com/api/webhooks/1/one' }),
    { webhook_url: ['https://discord.com/api/webhooks/1/first', 'https://ptb.discord.com/api/webhooks/1/other'] },
    { shown: { webhook_url: masked('webhook_url') } },
  ),
  'Teams provider': provider(
    'teams',
    () => ({ webhook_url: 'https://prod-1.westus.logic.azure.com/workflows/x?sig=one' }),
    {
      webhook_url: [
        'https://prod-1.westus.logic.azure.com/workflows/x?sig=first',
        'https://a.environment.api.powerplatform.com/x?sig=other',
      ],
    },
    { shown: { webhook_url: masked('webhook_url') } },
  ),
  'PagerDuty provider': provider(
    'pagerduty',
    () => ({ routing_key: '0'.repeat(32) }),
    { routing_key: ['1'.repeat(32), 'Z'.repeat(32)] },
    { shown: { routing_key: masked('routing_key') } },
  ),
  'API key': {
    collection: '/api/keys',
    create: schemas.KeyCreate ?? {},
    format: 'json',
    required: (turn) => ({ name: `Key ${turn}`, scopes: ['monitors:read'] }),
    samples: {
      name: ['Deploy', undefined],
      scopes: [['websites:read', 'monitors:write'], undefined],
      expires_at: ['2099-12-31T00:00:00.000Z', undefined],
    },
    read: ({ id }) => findIn('/api/keys', id),
  },
};

describe.each(Object.entries(resources))('%s', (_, resource) => {
  const { collection, create, update, format, required, samples, shown = {}, unchanging = [] } = resource;
  const read = resource.read ?? (({ id }: Values) => user.api.get(`${collection}/${id}`));
  const expected = (field: string, value: unknown) => shown[field]?.(value) ?? { [field]: value };
  let turn = 0;

  async function post(fields: Values): Promise<Values> {
    const response = await user.api.post(collection, { [format]: { ...required(++turn), ...fields } });
    expect([response.status, response.text]).toEqual([201, response.text]);
    const { key, signing_secret, ...created } = response.body.data;
    expect((await read(created)).body.data).toEqual(created);
    return created;
  }

  const createFields = Object.keys(create.properties ?? {}).filter((field) => !unchanging.includes(field));
  const updateFields = Object.keys(update?.properties ?? {}).filter((field) => !unchanging.includes(field));

  test('has samples of every field', () => {
    expect(createFields.length).toBeGreaterThan(0);
    expect(Object.keys(samples).toSorted()).toEqual([...new Set([...createFields, ...updateFields])].toSorted());
  });

  test.each(createFields)('%s is stored on creation', async (field) => {
    const [value] = samples[field] ?? [];
    const { [field]: _value, ...others } = required(turn + 1);
    const created = await post({ [field]: value });
    expect(created).toMatchObject({ ...others, ...masksOf(others), ...expected(field, value) });
  });

  test.each(updateFields)('%s is stored by an update, which changes nothing else', async (field) => {
    const [first, value] = samples[field] ?? [];
    const created = await post(createFields.includes(field) ? { [field]: first } : {});
    const put = (sample: unknown) => user.api.put(`${collection}/${created.id}`, { [format]: { [field]: sample } });
    const before = (await put(first)).body.data;
    expect(before).toMatchObject(expected(field, first));
    const { status, body } = await put(value);
    expect(status).toBe(200);
    const follows = field === 'is_active' ? { status: 'pending' } : {};
    expect(body.data).toEqual({ ...before, ...expected(field, value), ...follows, updated_at: expect.any(String) });
    expect((await read(before)).body.data).toEqual(body.data);
  });

  const masksOf = (fields: Values) => Object.assign({}, ...Object.entries(fields).map(([field, value]) => expected(field, value)));
});

describe('assignment', () => {
  const path = () => `/api/monitors/${monitorId}/notifications`;

  test('every field is stored on creation and by an update', async () => {
    expect(Object.keys(schemas.NotificationCreate?.properties ?? {}).toSorted()).toEqual([
      'delay_seconds',
      'enabled',
      'provider_id',
      'remind_every_seconds',
    ]);
    const { body } = await user.api.post('/api/providers', { json: { provider_type: 'email', recipient_email: 'ops@example.com' } });
    const provider_id = body.data.id;
    for (const [status, settings] of [
      [201, { enabled: false, delay_seconds: 60, remind_every_seconds: 300 }],
      [200, { enabled: true, delay_seconds: 3600, remind_every_seconds: 86_400 }],
    ] as const) {
      const response = await user.api.post(path(), { json: { provider_id, ...settings } });
      expect([response.status, response.body.data]).toMatchObject([status, { monitor_id: monitorId, provider_id, ...settings }]);
      expect((await findIn(path(), provider_id, 'provider_id')).body.data).toEqual(response.body.data);
    }
  });
});

test('every provider type is covered', () => {
  const covered = Object.values(resources).flatMap(({ collection, required }) =>
    collection === '/api/providers' ? [required(1).provider_type] : [],
  );
  expect(covered.toSorted()).toEqual(schemas.ProviderUpdate?.properties?.provider_type?.enum?.toSorted());
});

test('every operation that stores fields is covered', () => {
  const withBody = Object.values(operations).filter(({ body }) => body);
  /** Those that store nothing that can be read back. */
  const others = ['verifyWebsitePassword', 'createSession', 'changePassword', 'createUser', 'removeNotification', 'changeMonitors'];
  const covered = ['createWebsite', 'updateWebsite', 'putWebsite', 'createMonitor', 'updateMonitor', 'createProvider', 'updateProvider'];
  expect(withBody.map(({ id }) => id).toSorted()).toEqual([...others, ...covered, 'createKey', 'addNotification'].toSorted());
});

test('the columns that are read by default contain no hash, and nothing that only the engine or the database needs', () => {
  const hidden = new Map<unknown, string[]>([
    [UserEntity, ['passwordHash']],
    [SessionEntity, ['tokenHash']],
    [ApiKeyEntity, ['keyHash']],
    [WebsiteEntity, ['userId', 'domainUnicode', 'passwordHash']],
    [IncidentEntity, ['remindAt']],
    [ProviderEntity, ['failingToldAt', 'nextMessageAt', 'burstStartedAt', 'burstMessages']],
    [
      MonitorEntity,
      [
        'nextCheckAt',
        'claimToken',
        'graceSeconds',
        'tlsWarnedExpiry',
        'tlsWarnings',
        'tlsWarnedAt',
        'targetHost',
        'failures',
        'firstFailedAt',
        'firstCause',
        'firstStatusCode',
        'lastGoodAt',
        'lastGoodMs',
        'observedSince',
        'observedUntil',
        'observedBefore',
        'restateFrom',
        'searchedName',
        'searchedUrl',
        'claimedBytes',
      ],
    ],
  ]);
  for (const entity of entities) {
    const lazy = Object.entries(entity.meta.properties).filter(([, property]) => (property as { lazy?: boolean }).lazy);
    expect([entity.meta.className, lazy.map(([name]) => name)]).toEqual([entity.meta.className, hidden.get(entity) ?? []]);
    for (const [name] of lazy) expect(columnsOf(entity).join()).not.toContain(` as ${name}`);
  }
});
