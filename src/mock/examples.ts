// Adapts the examples of the contract to a request. Only assignments, which have the ids of a monitor and a provider, need
// special treatment.
import type { AnyInput } from '../http/input.ts';

type Item = Record<string, unknown>;

const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** The names of fields that contain a time in the future, or the boundary of statistics or of one of their buckets. */
const isNoEvent = /(expires_at|until)$|^(from|to)$/;

/** Shifts all times in the examples by the same amount, so that the latest event happened just now. Statistics end now. */
export function shiftTimesToNow(documents: object[], nowMs: number): object[] {
  let latestMs = 0;
  const text = JSON.stringify(documents, (key, value) => {
    if (typeof value === 'string' && timestamp.test(value) && !isNoEvent.test(key)) latestMs = Math.max(latestMs, Date.parse(value));
    return value;
  });
  return JSON.parse(text, (_, value) => {
    if (typeof value === 'string' && timestamp.test(value)) return timeOf(Date.parse(value) + nowMs - latestMs);
    return Array.isArray(value?.buckets) ? endNow(value, nowMs) : value;
  });
}

interface Period {
  from: string;
  to: string;
}

/** Moves statistics so that they end now. Their buckets are hours or days in UTC again, and the last one is the one that is running. */
function endNow(statistics: Period & { buckets: Period[] }, nowMs: number) {
  const endMs = Date.parse(statistics.to);
  const buckets = statistics.buckets.map((bucket) => {
    const startMs = Date.parse(bucket.from);
    const lengthMs = Date.parse(bucket.to) - startMs;
    const movedMs = startOfPeriod(nowMs, lengthMs) - startOfPeriod(endMs - startMs, lengthMs);
    return { ...bucket, from: timeOf(movedMs), to: timeOf(movedMs + lengthMs) };
  });
  return { ...statistics, from: buckets[0]?.from, to: timeOf(startOfPeriod(nowMs, 1000)), buckets };
}

function startOfPeriod(ms: number, lengthMs: number): number {
  return Math.floor(ms / lengthMs) * lengthMs;
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** Returns a copy, because Prism modifies its input. Forbids additional properties, because Prism would generate some. */
export function withoutAdditionalProperties(document: object): object {
  return JSON.parse(JSON.stringify(document), (_, value) =>
    value?.type === 'object' && value.properties ? { additionalProperties: false, ...value } : value,
  );
}

/** The fields that decide which other fields a resource has. */
const kindFields = ['type', 'provider_type'];

/**
 * Returns the name of the example of the same kind that shares the most values with the request; the first one if there is a tie. The
 * kind comes first, because a request also has defaults, which many examples share.
 */
export function closestExample(examples: { key: string; value: unknown }[], input: AnyInput): string | undefined {
  const sent = Object.entries({ ...input.query, ...(input.body as Item | undefined), ...input.path });
  const sharedValues = ({ value }: { value: unknown }) => {
    const { data } = value as { data?: Item };
    const shared = sent.filter(([name, given]) => data?.[name] === given).map(([name]) => name);
    return shared.length + (shared.some((name) => kindFields.includes(name)) ? sent.length : 0);
  };
  return examples.toSorted((one, other) => sharedValues(other) - sharedValues(one))[0]?.key;
}

/** The URL to which a job sends its heartbeats is one of the mock. */
export function moveReceivers(example: unknown, publicUrl: string): unknown {
  return JSON.parse(JSON.stringify(example), (name, value) =>
    name === 'heartbeat_url' && URL.canParse(value) ? publicUrl + new URL(value).pathname : value,
  );
}

/** Replaces the ids and links of the example with those of the request. */
export function adaptToRequest(example: unknown, input: AnyInput): unknown {
  const { path, url } = input;
  const providerId = requestedProvider(input);
  // An incident or an assignment of the monitor in the path. In other paths, the id is that of the item.
  const ofMonitor = url.path.startsWith('/api/monitors/');
  const withRequestedIds = (item: Item): Item => {
    if (path.id === undefined) return item;
    if (!('monitor_id' in item) || !ofMonitor) return 'id' in item ? { ...item, id: path.id } : item;
    return { ...item, monitor_id: path.id, ...(providerId !== undefined && 'provider_id' in item && { provider_id: providerId }) };
  };
  const { data, links, ...rest } = example as { data?: Item | Item[]; links?: Record<string, string | null> };
  if (data === undefined) return withRequestedIds(rest);
  const adaptedLinks = Object.entries(links ?? {}).map(([name, link]) => [name, link?.replace(/^[^?]*/, url.path) ?? null]);
  return {
    data: Array.isArray(data) ? data.map(withRequestedIds) : withRequestedIds(data),
    ...(links && { links: Object.fromEntries(adaptedLinks) }),
    ...rest,
  };
}

/** Replaces the ids in the detail of a 404, such as "Provider 3 is not assigned to monitor 5.", with those of the request. */
export function adaptNotFound(detail: string, input: AnyInput): string {
  const { id, domain } = input.path;
  const providerId = requestedProvider(input) ?? id;
  return detail
    .replace(/"[^"]*"/, () => `"${domain}"`)
    .replace(/(\w+) \d+/g, (_, resource) => `${resource} ${resource === 'Provider' ? providerId : id}`);
}

/** The provider of an assignment. Its id is in the body or in the query, not in the path. */
function requestedProvider({ query, body }: AnyInput): unknown {
  return (body as Item | undefined)?.provider_id ?? query.provider_id;
}
