// Builds a valid request for each operation and creates the resources that it needs. The bodies are the named examples of
// the contract. An operation without an entry is a compile error.
import type { ApiClient, ApiResponse } from './api-client.ts';
import { type ContractOperation, type OperationId, operations } from './contract-operations.ts';
import { sampleAlert } from './sample-event.ts';
import type { TestService, TestUser } from './service.ts';

/** The user who sends the request. A separate user for each request keeps the examples from affecting each other. */
export interface Sender {
  service: TestService;
  user: TestUser;
}

/** The options of ApiClient.request and the parameters of the path. */
export interface ValidRequest {
  /** Path parameters by name. */
  parameters: Record<string, string | number>;
  query?: Record<string, string>;
  json?: Body;
  form?: Record<string, string>;
  /** Contains the session cookie if the operation requires a session. */
  headers: Record<string, string>;
}

export type Body = Record<string, unknown>;

type RequestParts = Partial<Omit<ValidRequest, 'form' | 'json'>> & { body?: Body };
type RequestBuilder = (sender: Sender, example: Body, name: string) => RequestParts | Promise<RequestParts>;

export const password = 'correct horse battery';

const builders: Record<OperationId, RequestBuilder> = {
  listWebsites: () => ({}),
  createWebsite: () => ({}),
  showWebsite: forWebsite,
  putWebsite: forWebsite,
  updateWebsite: forWebsite,
  deleteWebsite: forWebsite,
  verifyWebsitePassword: async (sender, example) => ({
    parameters: { id: (await createWebsite(sender, { privacy: '2', password: String(example.password) })).id },
  }),
  showWebsiteByDomain: async (sender) => ({ parameters: { domain: (await createWebsite(sender)).domain } }),

  listKeys: () => ({}),
  createKey: () => ({}),
  deleteKey: async (sender) => ({ parameters: { id: await createKey(sender) } }),

  listMonitors: () => ({}),
  createMonitor: () => ({}),
  showMonitor: forMonitor,
  updateMonitor: forMonitor,
  deleteMonitor: forMonitor,
  checkMonitor: forMonitor,
  changeMonitors: async (sender, example) => ({
    body: {
      ...example,
      ...('ids' in example && { ids: [await createMonitor(sender)] }),
      ...('provider_id' in example && { provider_id: await createProvider(sender) }),
    },
  }),
  getHeartbeat: forHeartbeat,
  sendHeartbeat: forHeartbeat,
  getHeartbeatFailure: forHeartbeat,
  sendHeartbeatFailure: forHeartbeat,
  listIncidents: forMonitor,
  listAllIncidents: () => ({}),
  acknowledgeIncident: async (sender) => ({ parameters: { id: await createIncident(sender) } }),
  showStatistics: forMonitor,
  listStatistics: () => ({}),
  showOverview: () => ({}),
  listChecks: forMonitor,
  listNotifications: forMonitor,
  addNotification: async (sender, example) => ({
    parameters: { id: await createMonitor(sender) },
    body: { ...example, provider_id: await createProvider(sender) },
  }),
  removeNotification: async (sender) => {
    const [id, provider_id] = [await createMonitor(sender), await createProvider(sender)];
    await sender.user.api.post(`/api/monitors/${id}/notifications`, { json: { provider_id } });
    return { parameters: { id }, body: { provider_id } };
  },

  listProviders: () => ({}),
  createProvider: () => ({}),
  showProvider: forProvider,
  updateProvider: async (sender, _, type) => ({ parameters: { id: await createProvider(sender, type) } }),
  deleteProvider: forProvider,
  testProvider: forProvider,
  rotateProviderSecret: async (sender) => ({ parameters: { id: await createProvider(sender, 'webhook') } }),
  listDeliveries: forProvider,
  redeliver: async (sender) => ({ parameters: { id: await createDelivery(sender) } }),

  createUser: (_, example) => ({ body: { ...example, email: newEmail() } }),
  createSession: async ({ service }, example) => ({ body: { ...example, email: (await service.createUser(password)).email } }),
  showSession: signedIn,
  deleteSession: signedIn,
  changePassword: signedIn,
};

/** `example` is the name of the example to use as the body. The default is the first one in the contract. */
export async function validRequest(id: OperationId, sender: Sender, example?: string): Promise<ValidRequest> {
  const [[first, value] = ['', {}]] = Object.entries(operations[id].body?.examples ?? {});
  const named = example === undefined ? value : operations[id].body?.examples[example];
  if (!named) throw new Error(`${id} has no example "${example}".`);
  const { body = named as Body, ...parts } = await builders[id](sender, named as Body, example ?? first);
  return { parameters: {}, headers: {}, ...parts, ...encodeBody(operations[id], body) };
}

export function pathOf({ path }: ContractOperation, { parameters, query }: Pick<ValidRequest, 'parameters' | 'query'>): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(parameters[name])));
  return query ? `${filled}?${new URLSearchParams(query)}` : filled;
}

export function sendRequest(api: ApiClient, operation: ContractOperation, request: ValidRequest): Promise<ApiResponse> {
  const { json, form, headers, ...target } = request;
  return api.request(operation.method, pathOf(operation, target), { headers, ...(json && { json }), ...(form && { form }) });
}

/** Encodes the fields for the operation's media type. */
export function encodeBody({ body: declared }: ContractOperation, body: Body): Pick<ValidRequest, 'form' | 'json'> {
  if (!declared) return {};
  if (declared.mediaType === 'application/json') return { json: body };
  return { form: Object.fromEntries(Object.entries(body).map(([name, value]) => [name, String(value)])) };
}

/** Makes the mistake that the examples of validation errors show: a misspelled field, or text instead of a number or domain. */
export function withInvalidInput(operation: ContractOperation, request: ValidRequest): ValidRequest {
  const [first, ...others] = Object.entries(request.json ?? request.form ?? {});
  if (first) {
    const misspelled = first[0].replace(/^(.)(.)(.)/, '$1$3$2');
    return { ...request, ...encodeBody(operation, Object.fromEntries([[misspelled, first[1]], ...others])) };
  }
  const inPath = operation.parameters.find((parameter) => parameter.in === 'path');
  if (inPath) return { ...request, parameters: { [inPath.name]: invalidValue(inPath) } };
  if (operation.parameters.some((parameter) => parameter.in === 'query')) return { ...request, query: { page: 'abc' } };
  return { ...request, headers: { ...request.headers, 'If-None-Match': 'x'.repeat(1025) } };
}

function invalidValue({ name, schema }: ContractOperation['parameters'][number]): string {
  if (name === 'token') return 'x'.repeat(65);
  return schema.type === 'integer' ? 'abc' : 'localhost';
}

let count = 0;

export async function createWebsite({ user }: Sender, form: Record<string, string> = {}): Promise<{ id: number; domain: string }> {
  return dataOf(await user.api.post('/api/v1/websites', { form: { domain: `site${++count}.example`, ...form } }));
}

/** Logs an alert that was given up. */
export async function createDelivery(sender: Sender): Promise<number> {
  const [providerId, { user, service }] = [await createProvider(sender), sender];
  const [alert] = await service.database.asEngine((em) =>
    em.execute<{ id: number }[]>(
      `insert into alerts (user_id, provider_id, kind, payload, status, attempts, last_error, done_at)
       values (?, ?, ${sampleAlert()}, 'failed', 1, 'Slack rejected the message with status 404: no_service.', app_now()) returning id`,
      [user.id, providerId],
    ),
  );
  return Number(alert?.id);
}

export async function createMonitor({ user }: Sender, json: Body = {}): Promise<number> {
  return dataOf(await user.api.post('/api/monitors', { json: { ...operations.createMonitor.body?.examples.full, ...json } })).id;
}

/** Creates an open incident of a new monitor. */
export async function createIncident(sender: Sender): Promise<number> {
  const { service, user } = sender;
  const monitorId = await createMonitor(sender);
  const [incident] = await service.database.asEngine((em) =>
    em.execute<{ id: number }[]>(
      `insert into incidents (user_id, monitor_id, started_at, cause) values (?, ?, app_now(), 'HTTP 503') returning id`,
      [user.id, monitorId],
    ),
  );
  return Number(incident?.id);
}

/** `path` receives the heartbeats of the monitor. */
export async function createHeartbeat({ user }: Sender): Promise<{ id: number; path: string }> {
  const { id, heartbeat_url } = dataOf(await user.api.post('/api/monitors', { json: { friendly_name: 'Job', type: 'heartbeat' } }));
  return { id, path: new URL(heartbeat_url).pathname };
}

/** `type` is the name of an example of createProvider. */
export async function createProvider({ user }: Sender, type = 'email', json: Body = {}): Promise<number> {
  return dataOf(await user.api.post('/api/providers', { json: { ...operations.createProvider.body?.examples[type], ...json } })).id;
}

export async function createKey({ user }: Sender): Promise<number> {
  return dataOf(await user.api.post('/api/keys', { json: { name: 'Test', scopes: ['monitors:read'] } })).id;
}

/** Signs in a user who has the password above and returns the session cookie. */
export async function signIn(service: TestService, email: string): Promise<{ Cookie: string }> {
  const { headers } = await service.anonymous.post('/api/session', { json: { email, password } });
  return { Cookie: headers.get('Set-Cookie')?.split(';')[0] ?? '' };
}

function dataOf({ status, text, body }: ApiResponse) {
  if (status !== 201) throw new Error(`The test could not create a resource that it needs: ${text}`);
  return body.data;
}

async function forWebsite(sender: Sender): Promise<RequestParts> {
  return { parameters: { id: (await createWebsite(sender)).id } };
}

async function forMonitor(sender: Sender): Promise<RequestParts> {
  return { parameters: { id: await createMonitor(sender) } };
}

async function forHeartbeat(sender: Sender): Promise<RequestParts> {
  return { parameters: { token: (await createHeartbeat(sender)).path.split('/').at(-1) ?? '' } };
}

async function forProvider(sender: Sender): Promise<RequestParts> {
  return { parameters: { id: await createProvider(sender) } };
}

async function signedIn({ service }: Sender): Promise<RequestParts> {
  const { email } = await service.createUser(password);
  return { headers: await signIn(service, email) };
}

function newEmail(): string {
  return `new${++count}@example.com`;
}
