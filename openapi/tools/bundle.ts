import { join, relative, resolve } from 'node:path';
import { bundle, loadConfig } from '@redocly/openapi-core';
import { deriveErrorExamples } from './error-examples.ts';
import type { Document } from './merge-documents.ts';

export const root = resolve(import.meta.dirname, '../..');

export const apis = ['websites', 'monitoring'] as const;

/** Bundles the files of each API into one document, in the order of `apis`, with the error examples of each operation. */
export async function bundleContract(): Promise<Document[]> {
  return (await bundleWithTemplates()).map(deriveErrorExamples);
}

/** Bundles with shared error responses, whose examples are templates. Throws the first error, such as an unresolved reference. */
export async function bundleWithTemplates(): Promise<Document[]> {
  const { documents, errors } = await bundleWithErrors();
  if (errors[0]) throw new Error(errors[0]);
  return documents;
}

/** Bundles even if there are errors, for the linter, which reports them itself. */
export async function bundleWithErrors(): Promise<{ documents: Document[]; errors: string[] }> {
  const config = await loadConfig({ configPath: join(root, 'redocly.yaml') });
  const bundles = await Promise.all(apis.map((api) => bundle({ ref: join(root, 'openapi', api, 'openapi.yaml'), config })));
  const findings = bundles.flatMap(({ problems }) => problems).filter(({ severity }) => severity === 'error');
  return {
    documents: bundles.map(({ bundle: { parsed } }) => parsed as Document),
    errors: findings.map(({ message, location: [place] }) =>
      place ? `${relative(root, place.source.absoluteRef)} ${place.pointer ?? ''}: ${message}` : message,
    ),
  };
}
