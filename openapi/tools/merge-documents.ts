import { isDeepStrictEqual } from 'node:util';

export interface Document {
  info: Record<string, unknown>;
  servers: { url: string }[];
  tags: unknown[];
  paths: Record<string, unknown>;
  components: Record<string, Record<string, unknown>>;
  [key: string]: unknown;
}

/** Merges both APIs into one document for the client. Paths get the base path of their server; equal components are merged. */
export function mergeDocuments(documents: Document[]): Document {
  const [first] = documents;
  if (!first) throw new Error('There are no documents to merge.');
  const versions = new Set(documents.map(({ info }) => info.version));
  if (versions.size > 1) throw new Error(`The two APIs must have the same info.version, not ${[...versions].join(' and ')}.`);
  const { origin } = new URL(first.servers[0]?.url ?? '');
  const merged: Document = {
    ...first,
    info: { ...first.info, title: 'Sitekeeper', description: 'The website registry and the monitoring API of Sitekeeper.' },
    servers: [{ url: origin }],
    tags: documents.flatMap((document) => document.tags),
    paths: {},
    components: {},
  };
  for (const document of documents) {
    const base = new URL(document.servers[0]?.url ?? '').pathname;
    for (const [path, item] of Object.entries(document.paths)) merged.paths[base + path] = item;
    for (const [kind, components] of Object.entries(document.components)) {
      const known = merged.components[kind] ?? {};
      merged.components[kind] = known;
      for (const [name, component] of Object.entries(components)) {
        if (name in known && !isDeepStrictEqual(known[name], component)) {
          throw new Error(`The two APIs define components.${kind}.${name} differently.`);
        }
        known[name] = component;
      }
    }
  }
  return merged;
}
