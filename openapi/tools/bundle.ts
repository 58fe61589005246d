import { join, relative, resolve } from 'node:path';
import { bundle, loadConfig } from '@redocly/openapi-core';
import type { Document } from './merge-documents.ts';

export const root = resolve(import.meta.dirname, '../..');

export const apis = ['websites', 'monitoring'] as const;

/** Each API's files as one document, in the order of `apis`. Throws at what cannot be read or found. */
export async function bundleContract(): Promise<Document[]> {
  const config = await loadConfig({ configPath: join(root, 'redocly.yaml') });
  const bundles = await Promise.all(apis.map((api) => bundle({ ref: join(root, 'openapi', api, 'openapi.yaml'), config })));
  for (const { message, location, severity } of bundles.flatMap(({ problems }) => problems)) {
    const [place] = location;
    if (severity === 'error' && place) throw new Error(`${relative(root, place.source.absoluteRef)} ${place.pointer ?? ''}: ${message}`);
  }
  return bundles.map(({ bundle: { parsed } }) => parsed as Document);
}
