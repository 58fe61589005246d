import { expect } from 'vitest';
import type { ApiClient } from './api-client.ts';

type Kind = 'website' | 'monitor' | 'provider';

/** Matches the ETag of this version of a resource, whatever the hash of its body is. */
export function etag(kind: Kind, id: number, version: number | string): string {
  return expect.stringMatching(new RegExp(`^"${kind}-${id}-${String(version).replace('.', '\\.')}-[0-9a-f]{16}"$`)) as string;
}

/** Matches the ETag of a response that has no version: a list, or the session. */
export const hashETag = expect.stringMatching(/^"[0-9a-f]{16}"$/) as string;

/** An ETag of this version for If-Match, which does not compare the hash at the end. */
export function ifMatch(kind: Kind, id: number, version: number | string): string {
  return `"${kind}-${id}-${version}-0123456789abcdef"`;
}

/** Returns If-Match and If-None-Match headers with `ETag` in the template replaced: `W/ETag`, `"7", ETag`. */
export function fillIn(template: string, current: string | null): string {
  if (current === null) throw new Error('The response has no ETag.');
  return template.replaceAll('ETag', current);
}

/** Expects that a list has an ETag and returns 304 for it, until `change` has changed the list. */
export async function expectConditionalList(api: ApiClient, path: string, change: () => Promise<unknown>) {
  const current = (await api.get(path)).headers.get('ETag');
  expect(current).toEqual(hashETag);
  for (const method of ['GET', 'HEAD']) {
    for (const template of ['ETag', 'W/ETag', '"7", ETag', '*']) {
      const { status, text, headers } = await api.request(method, path, { headers: { 'If-None-Match': fillIn(template, current) } });
      expect([method, template, status, text, headers.get('ETag')]).toEqual([method, template, 304, '', current]);
    }
  }
  expect((await api.get(path, { headers: { 'If-None-Match': '"0123456789abcdef"' } })).status).toBe(200);
  await change();
  const { status, headers } = await api.get(path, { headers: { 'If-None-Match': fillIn('ETag', current) } });
  expect([status, headers.get('ETag')]).toEqual([200, hashETag]);
  expect(headers.get('ETag')).not.toBe(current);
}
