// One valid request of each operation, with all that it needs made first. Bodies are the named examples of the
// contract. An operation without an entry does not compile.
import { type ContractOperation, type OperationId, operations } from './contract-operations.ts';
import type { TestService, TestUser } from './service.ts';

/** Whose request it is. A user of its own for each request keeps examples from meeting each other. */
export interface Sender {
  service: TestService;
  user: TestUser;
}

/** What ApiClient.request takes, and what a path is made of. */
export interface ValidRequest {
  /** By the names in the path. */
  parameters: Record<string, string | number>;
  query?: Record<string, string>;
  json?: Body;
  form?: Record<string, string>;
  /** With the cookie, where the operation is for signed-in users. */
  headers: Record<string, string>;
}

export type Body = Record<string, unknown>;

type Parts = Partial<Omit<ValidRequest, 'form' | 'json'>> & { body?: Body };
type Make = (sender: Sender, example: Body, name: string) => Parts | Promise<Parts>;

export const password = 'correct horse battery';

const makers: Record<OperationId, Make> = {
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
  createKey: (_, example) => ({ body: { ...example, ...(example.expires_at !== undefined && { expires_at: nextYear() }) } }),
  deleteKey: async (sender) => ({ parameters: { id: await createKey(sender) } }),

  listMonitors: () => ({}),
  createMonitor: () => ({}),
  showMonitor: forMonitor,
  updateMonitor: forMonitor,
  deleteMonitor: forMonitor,
  checkMonitor: forMonitor,
  listIncidents: forMonitor,
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

  createUser: (_, example) => ({ body: { ...example, email: newAddress() } }),
  createSession: async ({ service }, example) => ({ body: { ...example, email: (await service.createUser(password)).email } }),
  showSession: signedIn,
  deleteSession: signedIn,
  changePassword: signedIn,
};

/** `example` names the body; without it the first one of the contract is taken. */
export async function validRequest(id: OperationId, sender: Sender, example?: string): Promise<ValidRequest> {
  const [[first, value] = ['', {}]] = Object.entries(operations[id].body?.examples ?? {});
  const named = example === undefined ? value : operations[id].body?.examples[example];
  if (!named) throw new Error(`${id} has no example "${example}".`);
  const { body = named as Body, ...made } = await makers[id](sender, named as Body, example ?? first);
  return { parameters: {}, headers: {}, ...made, ...asSent(operations[id], body) };
}

export function pathOf({ path }: ContractOperation, { parameters, query }: Pick<ValidRequest, 'parameters' | 'query'>): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(parameters[name])));
  return query ? `${filled}?${new URLSearchParams(query)}` : filled;
}

/** The same fields as the operation's media type carries them. */
export function asSent({ body: declared }: ContractOperation, body: Body): Pick<ValidRequest, 'form' | 'json'> {
  if (!declared) return {};
  if (declared.mediaType === 'application/json') return { json: body };
  return { form: Object.fromEntries(Object.entries(body).map(([name, value]) => [name, String(value)])) };
}

/** A field that nobody declared, else a parameter that is no number. */
export function withBadInput({ parameters, body }: ContractOperation, request: ValidRequest): ValidRequest {
  if (body) return { ...request, ...(request.json ? { json: { ...request.json, nmae: 'x' } } : { form: { ...request.form, nmae: 'x' } }) };
  const inPath = parameters.find((parameter) => parameter.in === 'path');
  if (inPath) return { ...request, parameters: { [inPath.name]: 'no such thing' } };
  const number = parameters.find((parameter) => parameter.in === 'query' && parameter.schema.type === 'integer');
  return { ...request, query: { [number?.name ?? '']: 'many' } };
}

let count = 0;

export async function createWebsite({ user }: Sender, form: Record<string, string> = {}): Promise<{ id: number; domain: string }> {
  const { body } = await user.api.post('/api/v1/websites', { form: { domain: `site${++count}.example`, ...form } });
  return body.data;
}

export async function createMonitor({ user }: Sender, json: Body = {}): Promise<number> {
  const { body } = await user.api.post('/api/monitors', { json: { ...operations.createMonitor.body?.examples.full, ...json } });
  return body.data.id;
}

/** The type is the name of an example. */
export async function createProvider({ user }: Sender, type = 'email', json: Body = {}): Promise<number> {
  const { body } = await user.api.post('/api/providers', { json: { ...operations.createProvider.body?.examples[type], ...json } });
  return body.data.id;
}

export async function createKey({ user }: Sender): Promise<number> {
  const { body } = await user.api.post('/api/keys', { json: { name: 'Test', scopes: ['monitors:read'] } });
  return body.data.id;
}

/** The cookie of a session of a user who has a password. */
export async function signIn(service: TestService, email: string): Promise<{ Cookie: string }> {
  const { headers } = await service.stranger.post('/api/session', { json: { email, password } });
  return { Cookie: headers.get('Set-Cookie')?.split(';')[0] ?? '' };
}

async function forWebsite(sender: Sender): Promise<Parts> {
  return { parameters: { id: (await createWebsite(sender)).id } };
}

async function forMonitor(sender: Sender): Promise<Parts> {
  return { parameters: { id: await createMonitor(sender) } };
}

async function forProvider(sender: Sender): Promise<Parts> {
  return { parameters: { id: await createProvider(sender) } };
}

async function signedIn({ service }: Sender): Promise<Parts> {
  const { email } = await service.createUser(password);
  return { headers: await signIn(service, email) };
}

function newAddress(): string {
  return `new${++count}@example.com`;
}

function nextYear(): string {
  return new Date(Date.now() + 365 * 24 * 3600 * 1000).toISOString();
}
