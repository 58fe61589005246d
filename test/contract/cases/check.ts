import type { ApiResponse } from '../../support/api-client.ts';
import { checkAgainstContract } from '../../support/response-check.ts';
import { titleOf } from './cases.ts';
import { buildRequest, type Draft } from './draft.ts';

/** Throws unless the response is the one that the case describes, conforms to the contract, and shows no data of another user. */
export async function check(draft: Draft, response: ApiResponse) {
  const { status, body } = response;
  if (status !== draft.status) throw new Error(`${titleOf(draft)}: the response is ${status} ${body?.code ?? ''}`);
  const { method, path } = buildRequest(draft);
  checkAgainstContract(method, path, response, { allowsOtherHeaders: false });
  const errors = differencesFromExample(draft, body);
  if (status < 300) errors.push(...differencesFromRequest(draft, body), ...(await foreignRows(draft, body)));
  if (errors.length > 0) throw new Error(`${titleOf(draft)}: ${errors.join('; ')}`);
}

type Fields = Record<string, unknown>;

/** The fields that distinguish the examples of a response from each other. */
const distinguishingFields = ['code', 'provider_type', 'type', 'status', 'opens', 'object', 'outcome', 'event'];

function differencesFromExample({ responseExample }: Draft, body: Fields): string[] {
  if (!responseExample) return [];
  const [expected, actual] = [itemsOf(responseExample.value), itemsOf(body)];
  if (expected.length !== actual.length) return [`${actual.length} items instead of ${expected.length}`];
  const differences = expected.flatMap((item, index) =>
    distinguishingFields
      .filter((field) => field in item && !isUrl(item[field]) && item[field] !== actual[index]?.[field])
      .map((field) => `${field} is ${actual[index]?.[field]}, not ${item[field]}`),
  );
  return [...differences, ...differencesFromProblem(responseExample.value, body)];
}

/** The type of a problem is a URL, which depends on the service. */
function isUrl(value: unknown): boolean {
  return typeof value === 'string' && URL.canParse(value);
}

/** A problem has the texts and the validation errors of its example, except for numbers and domains. */
function differencesFromProblem(example: Fields, body: Fields): string[] {
  return ['title', 'detail', 'errors']
    .filter((field) => textOf(example[field]) !== textOf(body?.[field]))
    .map((field) => `${field} is ${JSON.stringify(body?.[field])}, not ${JSON.stringify(example[field])}`);
}

function textOf(value: unknown = ''): string {
  return JSON.stringify(value)
    .replace(/\\"[^" ]+\.[^" ]+\\"/g, '"domain"')
    .replace(/\d+/g, '#')
    .replace(/# (request|second)s?\b/g, '# $1s');
}

/** Fields that the service returns in another form than they are sent: normalized, masked, or with milliseconds. */
const transformedFields = ['domain', 'webhook_url', 'token', 'routing_key', 'expires_at'];

function differencesFromRequest({ request }: Draft, body: Fields): string[] {
  const [item] = itemsOf(body);
  return Object.entries({ ...request.json, ...request.form })
    .filter(([name, value]) => item && name in item && !transformedFields.includes(name) && String(item[name]) !== String(value))
    .map(([name, value]) => `${name} is ${item?.[name]}, but ${value} was sent`);
}

const tables: Record<string, string> = { domains: 'websites', keys: 'api_keys', deliveries: 'alerts' };

/** Every item in the response must be a row of the calling user. After a DELETE, the row must no longer exist. */
async function foreignRows({ operation, environment, owner }: Draft, body: Fields): Promise<string[]> {
  const collection = operation.path.match(/[a-z]+(?=$|\/\{\w+\}$|\/\{\w+\}\/(acknowledge|check|redeliver|rotate|verify))/)?.[0] ?? '';
  const table = tables[collection] ?? collection;
  const ids = itemsOf(body).flatMap(({ id }) => (typeof id === 'number' ? [id] : []));
  if (ids.length === 0 || collection === 'users') return [];
  const rows = await environment.main.database.asUser(owner.id, (em) => em.execute<{ id: number }[]>(`select id from ${table}`));
  const ownIds = new Set(rows.map(({ id }) => Number(id)));
  const wrong = ids.filter((id) => ownIds.has(id) !== (operation.method !== 'DELETE'));
  return wrong.map((id) => `${collection} ${id} does not belong to the calling user`);
}

function itemsOf(body: Fields | undefined): Fields[] {
  const data = body?.data ?? body ?? [];
  return Array.isArray(data) ? data : [data as Fields];
}
