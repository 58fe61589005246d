import { join, resolve } from 'node:path';
import { bundle, loadConfig } from '@redocly/openapi-core';
import type { Document } from './merge-documents.ts';

export const root = resolve(import.meta.dirname, '../..');

export const apis = ['websites', 'monitoring'] as const;

/** Each API's files as one document, in the order of `apis`. */
export async function bundleContract(): Promise<Document[]> {
  const config = await loadConfig({ configPath: join(root, 'redocly.yaml') });
  const bundles = await Promise.all(apis.map((api) => bundle({ ref: join(root, 'openapi', api, 'openapi.yaml'), config })));
  return bundles.map(({ bundle: { parsed } }) => parsed as Document);
}
