// What no schema can say: the parts of an answer agree with each other, with its headers and with what was asked for.

interface Answer {
  status: number;
  headers: Headers;
  body: unknown;
}

interface Asked {
  method: string;
  pathname: string;
  /** What stands in the path, by name. */
  parameters: Record<string, string>;
}

type Fields = Record<string, unknown>;
type Page = { data: Fields[]; links: Record<string, string | null>; meta: Record<string, number | null> };

/** Every contradiction that is found, said in a few words. */
export function contradictions(asked: Asked, { status, headers, body }: Answer): string[] {
  if (typeof body !== 'object' || body === null) return [];
  const fields = body as Fields;
  const found = [...timesOf(fields), ...ratesOf(headers)];
  if (status >= 400) return [...found, ...problem(asked, status, headers, fields)];
  if ('meta' in fields) found.push(...page(asked, fields as Page));
  const items = (Array.isArray(fields.data) ? fields.data : [fields.data ?? fields]) as Fields[];
  for (const item of items) found.push(...ofPath(asked, item), ...ofItem(item));
  const location = headers.get('Location');
  if (location !== null && location !== `${asked.pathname}/${items[0]?.id}`) found.push(`Location ${location} is not where it was created`);
  return found;
}

function* problem({ pathname }: Asked, status: number, headers: Headers, body: Fields) {
  if (body.status !== status) yield `status in the body is ${body.status}`;
  if (body.instance !== pathname) yield `instance is ${body.instance}`;
  if (body.request_id !== headers.get('X-Request-Id')) yield `request_id is ${body.request_id}, X-Request-Id is another`;
  if (!String(body.type).endsWith(`/docs/problems/${body.code}`)) yield `type ${body.type} does not explain ${body.code}`;
  if ((status === 422) !== 'errors' in body) yield status === 422 ? 'no errors are named' : 'errors are named';
  if (Array.isArray(body.errors) && body.errors.length === 0) yield 'errors is empty';
}

/** The two APIs name the same numbers differently. */
function* page({ pathname }: Asked, { data, links, meta }: Page) {
  const { total, from, to } = meta;
  const number = Number(meta.page ?? meta.current_page);
  const size = Number(meta.pageSize ?? meta.per_page);
  const last = Number(meta.pageCount ?? meta.last_page);
  const before = (number - 1) * size;
  if (data.length !== Math.min(size, Math.max(0, Number(total) - before))) yield `${data.length} items do not fit a total of ${total}`;
  if (last !== Math.max(1, Math.ceil(Number(total) / size))) yield `${last} pages do not fit a total of ${total}`;
  if (from !== undefined && from !== (data.length ? before + 1 : null)) yield `from is ${from}`;
  if (to !== undefined && to !== (data.length ? before + data.length : null)) yield `to is ${to}`;
  if ((links.prev === null) !== number <= 1) yield `prev of page ${number} is ${links.prev}`;
  if ((links.next === null) !== number >= last) yield `next of page ${number} of ${last} is ${links.next}`;
  for (const [name, link] of Object.entries(links)) if (link !== null && link.split('?')[0] !== pathname) yield `${name} leads to ${link}`;
}

/** What is answered is what the path named: the item itself, or the one that the items belong to. */
function* ofPath({ pathname, parameters }: Asked, item: Fields) {
  const { id } = parameters;
  const owner = `${/\/(\w+)s\/\d+/.exec(pathname)?.[1]}_id`;
  const answered = owner in item ? item[owner] : item.id;
  if (id !== undefined && answered !== undefined && String(answered) !== id) yield `${answered} was answered for ${id}`;
}

function* ofItem(item: Fields) {
  const { created_at, updated_at, privacy, has_password, is_active, status, resolved_at, started_at, duration_seconds, key, prefix } = item;
  if (updated_at !== undefined && String(updated_at) < String(created_at)) yield 'it was updated before it was created';
  if (privacy === 2 && !has_password) yield 'privacy is 2 without a password';
  if (is_active !== undefined && is_active === (status === 'paused')) yield `is_active is ${is_active}, status is ${status}`;
  if (resolved_at !== undefined && (status === 'open') !== (resolved_at === null)) yield `status ${status} does not fit resolved_at`;
  if (typeof resolved_at === 'string') {
    const seconds = (Date.parse(resolved_at) - Date.parse(String(started_at))) / 1000;
    if (Math.abs(Number(duration_seconds) - seconds) >= 1) yield `duration_seconds is ${duration_seconds}, not ${seconds}`;
  }
  if (key !== undefined && !String(key).startsWith(String(prefix))) yield 'the key does not start with its prefix';
}

/** Times are UTC with milliseconds, wherever they stand. */
function* timesOf(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, child] of Object.entries(value)) {
    const isTime = name.endsWith('_at') && typeof child === 'string';
    if (isTime && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(child)) yield `${name} is ${child}`;
    yield* timesOf(child);
  }
}

function* ratesOf(headers: Headers) {
  const [, left, seconds] = /;r=(\d+);t=(\d+)$/.exec(headers.get('RateLimit') ?? '') ?? [];
  if (left !== undefined && left !== headers.get('X-RateLimit-Remaining')) yield 'RateLimit and X-RateLimit-Remaining differ';
  if (seconds !== undefined && seconds !== headers.get('X-RateLimit-Reset')) yield 'RateLimit and X-RateLimit-Reset differ';
}
