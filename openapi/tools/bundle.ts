import { join, relative, resolve } from 'node:path';
import { bundle, loadConfig } from '@redocly/openapi-core';
import type { Document } from './merge-documents.ts';

export const root = resolve(import.meta.dirname, '../..');

export const apis = ['websites', 'monitoring'] as const;

/** Each API's files as one document, in the order of `apis`. Throws at the first thing that cannot be read or found. */
export async function bundleContract(): Promise<Document[]> {
  const { documents, faults } = await bundleWithFaults();
  if (faults[0]) throw new Error(faults[0]);
  return documents;
}

/** For the linter, which says by itself what is wrong. */
export async function bundleWithFaults(): Promise<{ documents: Document[]; faults: string[] }> {
  const config = await loadConfig({ configPath: join(root, 'redocly.yaml') });
  const bundles = await Promise.all(apis.map((api) => bundle({ ref: join(root, 'openapi', api, 'openapi.yaml'), config })));
  const errors = bundles.flatMap(({ problems }) => problems).filter(({ severity }) => severity === 'error');
  return {
    documents: bundles.map(({ bundle: { parsed } }) => parsed as Document),
    faults: errors.map(({ message, location: [place] }) =>
      place ? `${relative(root, place.source.absoluteRef)} ${place.pointer ?? ''}: ${message}` : message,
    ),
  };
}
