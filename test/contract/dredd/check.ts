import type { ApiResponse } from '../../support/api-client.ts';
import { checkAgainstContract } from '../../support/response-check.ts';
import { titleOf } from './cases.ts';
import { compose, type Draft } from './draft.ts';

/** Throws unless the answer is the one that the case is about, keeps the contract, and shows nothing of somebody else. */
export async function check(draft: Draft, answer: ApiResponse) {
  const { status, body } = answer;
  if (status !== draft.status) throw new Error(`${titleOf(draft)} was answered with ${status} ${body?.code ?? ''}`);
  const { method, path } = compose(draft);
  checkAgainstContract(method, path, answer);
  const faults = [...unlikeExample(draft, body), ...(status < 300 ? [...unlikeRequest(draft, body), ...(await notOwn(draft, body))] : [])];
  if (faults.length > 0) throw new Error(`${titleOf(draft)}: ${faults.join('; ')}`);
}

type Fields = Record<string, unknown>;

/** The fields by which one example of an answer differs from the others. */
const telling = ['code', 'provider_type', 'status', 'opens', 'object'];

function unlikeExample({ answer }: Draft, body: Fields): string[] {
  if (!answer) return [];
  const [expected, found] = [itemsOf(answer.value), itemsOf(body)];
  if (expected.length !== found.length) return [`${found.length} items instead of ${expected.length}`];
  const different = expected.flatMap((item, index) =>
    telling
      .filter((field) => field in item && item[field] !== found[index]?.[field])
      .map((field) => `${field} is ${found[index]?.[field]}, not ${item[field]}`),
  );
  // The example called validation_failed stands for any fault; the others name theirs.
  const faults = ({ errors = [] }: { errors?: Fields[] }) => JSON.stringify(errors.map(({ message, ...fault }) => fault));
  if (answer.name !== 'validation_failed' && faults(answer.value) !== faults(body)) different.push(`errors are ${faults(body)}`);
  return different;
}

/** Shown in another form than they are sent: normalised, masked, or in milliseconds. */
const transformed = ['domain', 'webhook_url', 'token', 'expires_at'];

function unlikeRequest({ request }: Draft, body: Fields): string[] {
  const [item] = itemsOf(body);
  return Object.entries({ ...request.json, ...request.form })
    .filter(([name, value]) => item && name in item && !transformed.includes(name) && String(item[name]) !== String(value))
    .map(([name, value]) => `${name} is ${item?.[name]}, but ${value} was sent`);
}

const tables: Record<string, string> = { domains: 'websites', keys: 'api_keys' };

/** Everything that is shown is a row of the caller's; what was deleted is not there any more. */
async function notOwn({ operation, world, owner }: Draft, body: Fields): Promise<string[]> {
  const collection = operation.path.match(/[a-z]+(?=$|\/\{\w+\}$|\/\{\w+\}\/(check|verify))/)?.[0] ?? '';
  const table = tables[collection] ?? collection;
  const shown = itemsOf(body).flatMap(({ id }) => (typeof id === 'number' ? [id] : []));
  if (shown.length === 0 || collection === 'users') return [];
  const rows = await world.main.database.asUser(owner.id, (em) => em.execute<{ id: number }[]>(`select id from ${table}`));
  const own = new Set(rows.map(({ id }) => Number(id)));
  const wrong = shown.filter((id) => own.has(id) !== (operation.method !== 'DELETE'));
  return wrong.map((id) => `${collection} ${id} is not the caller's`);
}

function itemsOf(body: Fields | undefined): Fields[] {
  const data = body?.data ?? body ?? [];
  return Array.isArray(data) ? data : [data as Fields];
}
