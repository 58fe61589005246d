// What brings the examples of the contract to life. All of it works on any contract; no operation is named here.
import type { AnyInput } from '../http/input.ts';

type Item = Record<string, unknown>;

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** The document with the times of its examples moved as one, so that the latest thing that happened in them happened now. */
export function happeningNow(documents: object[], nowMs: number): object[] {
  let latestMs = 0;
  const text = JSON.stringify(documents, (key, value) => {
    if (typeof value === 'string' && time.test(value) && key !== 'expires_at') latestMs = Math.max(latestMs, Date.parse(value));
    return value;
  });
  return JSON.parse(text, (_, value) =>
    typeof value === 'string' && time.test(value) ? new Date(Date.parse(value) + nowMs - latestMs).toISOString() : value,
  );
}

/** A copy, for Prism changes what it is given, in which objects have their fields and no others: else Prism makes some up. */
export function closed(document: object): object {
  return JSON.parse(JSON.stringify(document), (_, value) =>
    value?.type === 'object' && value.properties ? { additionalProperties: false, ...value } : value,
  );
}

/** The name of the example that has the most in common with what was sent; the first where all have the same. */
export function fittingExample(examples: { key: string; value: unknown }[], input: AnyInput): string | undefined {
  const sent = Object.entries({ ...(input.body as Item | undefined), ...input.path });
  const agreement = ({ value }: { value: unknown }) => {
    const { data } = value as { data?: Item };
    return sent.filter(([name, given]) => data?.[name] === given).length;
  };
  return examples.toSorted((one, other) => agreement(other) - agreement(one))[0]?.key;
}

/** The answer about the very items that the request names, not about those of the example. */
export function aboutTheSame(answer: unknown, { path, query, body: sent, url }: AnyInput): unknown {
  const providerId = (sent as Item | undefined)?.provider_id ?? query.provider_id;
  const named = (item: Item): Item => {
    if (path.id === undefined) return item;
    if (!('monitor_id' in item)) return 'id' in item ? { ...item, id: path.id } : item;
    return { ...item, monitor_id: path.id, ...(providerId !== undefined && 'provider_id' in item && { provider_id: providerId }) };
  };
  const { data, links, ...rest } = answer as { data?: Item | Item[]; links?: Record<string, string | null> };
  if (data === undefined) return named(rest);
  const here = Object.entries(links ?? {}).map(([name, link]) => [name, link?.replace(/^[^?]*/, url.path) ?? null]);
  return { data: Array.isArray(data) ? data.map(named) : named(data), ...(links && { links: Object.fromEntries(here) }), ...rest };
}
