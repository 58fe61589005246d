// Rules that a schema cannot express: the parts of a response are consistent with each other, with the headers and with the
// request.
import type { ApiResponse } from './api-client.ts';

interface RequestInfo {
  method: string;
  pathname: string;
  /** The path parameters by name. */
  parameters: Record<string, string>;
}

type Fields = Record<string, unknown>;
type Page = { data: Fields[]; links: Record<string, string | null>; meta: Record<string, number | null> };

/** Returns a short description of every contradiction in the response. */
export function contradictions(
  request: RequestInfo,
  { status, headers, body }: Pick<ApiResponse, 'status' | 'headers' | 'body'>,
): string[] {
  if (typeof body !== 'object' || body === null) return [];
  const fields = body as Fields;
  const found = [...timeContradictions(fields), ...rateLimitContradictions(headers)];
  if (status >= 400) return [...found, ...problemContradictions(request, status, headers, fields)];
  if ('meta' in fields) found.push(...pageContradictions(request, fields as Page));
  const items = (Array.isArray(fields.data) ? fields.data : [fields.data ?? fields]) as Fields[];
  for (const item of items) found.push(...pathContradictions(request, item), ...itemContradictions(item));
  const location = headers.get('Location');
  if (location !== null && location !== `${request.pathname}/${items[0]?.id}`)
    found.push(`Location ${location} is not the path of the created resource`);
  const [, tagged] = /^"[a-z]+-(\d+)-/.exec(headers.get('ETag') ?? '') ?? [];
  if (tagged !== undefined && tagged !== String(items[0]?.id)) found.push(`the ETag names ${tagged} instead of ${items[0]?.id}`);
  return found;
}

function* problemContradictions({ pathname }: RequestInfo, status: number, headers: Headers, body: Fields) {
  if (body.status !== status) yield `status in the body is ${body.status}`;
  if (body.instance !== instanceOf(pathname)) yield `instance is ${body.instance}`;
  if (body.request_id !== headers.get('X-Request-Id')) yield `request_id is ${body.request_id}, X-Request-Id differs`;
  if (!String(body.type).endsWith(`/docs/problems/${body.code}`)) yield `type ${body.type} is not the page about ${body.code}`;
  if ((status === 422) !== 'errors' in body) yield status === 422 ? 'errors is missing' : 'errors is present';
  if (Array.isArray(body.errors) && body.errors.length === 0) yield 'errors is empty';
}

/** A long path is cut, but not within an encoded character, and an API key or the token of a heartbeat in it is masked. */
function instanceOf(pathname: string): string {
  const cut = pathname.slice(0, 2048).replace(/%[\da-f]?$/i, '');
  return cut
    .replace(/(stkp_[0-9A-Za-z]{4})[0-9A-Za-z]+/g, '$1****')
    .replace(/(\/heartbeats\/+)[^/]+|(\/)[0-9A-Za-z]{32}(?![0-9A-Za-z])/g, '$1$2****');
}

/** The two APIs use different names for the same numbers. */
function* pageContradictions({ pathname }: RequestInfo, { data, links, meta }: Page) {
  const { total, from, to } = meta;
  const number = Number(meta.page ?? meta.current_page);
  const size = Number(meta.pageSize ?? meta.per_page);
  const last = Number(meta.pageCount ?? meta.last_page);
  const offset = (number - 1) * size;
  if (data.length !== Math.min(size, Math.max(0, Number(total) - offset))) yield `${data.length} items contradict a total of ${total}`;
  if (last !== Math.max(1, Math.ceil(Number(total) / size))) yield `${last} pages contradict a total of ${total}`;
  if (from !== undefined && from !== (data.length ? offset + 1 : null)) yield `from is ${from}`;
  if (to !== undefined && to !== (data.length ? offset + data.length : null)) yield `to is ${to}`;
  if ((links.prev === null) !== number <= 1) yield `prev of page ${number} is ${links.prev}`;
  if ((links.next === null) !== number >= last) yield `next of page ${number} of ${last} is ${links.next}`;
  for (const [name, link] of Object.entries(links))
    if (link !== null && link.split('?')[0] !== pathname) yield `the link ${name} points to ${link}`;
}

/** The response is about the resource in the path: it is that resource, or its items belong to it. */
function* pathContradictions({ pathname, parameters }: RequestInfo, item: Fields) {
  const { id } = parameters;
  const parentId = `${/\/(\w+)s\/\d+/.exec(pathname)?.[1]}_id`;
  // The deliveries of a provider do not name it.
  const isChild = pathname.endsWith('/deliveries');
  const returned = parentId in item ? item[parentId] : isChild ? undefined : item.id;
  if (id !== undefined && returned !== undefined && String(returned) !== id) yield `${returned} was returned for ${id}`;
}

function* itemContradictions(item: Fields) {
  const { created_at, updated_at, privacy, has_password, is_active, status, resolved_at, started_at, duration_seconds, key, prefix } = item;
  if (updated_at !== undefined && String(updated_at) < String(created_at)) yield 'updated_at is before created_at';
  if (privacy === 2 && !has_password) yield 'privacy is 2 without a password';
  if (is_active !== undefined && is_active === (status === 'paused')) yield `is_active is ${is_active}, status is ${status}`;
  if (resolved_at !== undefined && (status === 'open') !== (resolved_at === null)) yield `status ${status} contradicts resolved_at`;
  if (typeof resolved_at === 'string') {
    const seconds = (Date.parse(resolved_at) - Date.parse(String(started_at))) / 1000;
    if (Math.abs(Number(duration_seconds) - seconds) >= 1) yield `duration_seconds is ${duration_seconds}, not ${seconds}`;
  }
  if (key !== undefined && !String(key).startsWith(String(prefix))) yield 'the key does not start with its prefix';
}

/** All times in a response are UTC with milliseconds. */
function* timeContradictions(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, child] of Object.entries(value)) {
    const isTime = name.endsWith('_at') && typeof child === 'string';
    if (isTime && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(child)) yield `${name} is ${child}`;
    yield* timeContradictions(child);
  }
}

function* rateLimitContradictions(headers: Headers) {
  const [, left, seconds] = /;r=(\d+);t=(\d+)$/.exec(headers.get('RateLimit') ?? '') ?? [];
  if (left !== undefined && left !== headers.get('X-RateLimit-Remaining')) yield 'RateLimit and X-RateLimit-Remaining differ';
  if (seconds !== undefined && seconds !== headers.get('X-RateLimit-Reset')) yield 'RateLimit and X-RateLimit-Reset differ';
}
