import { hash } from 'node:crypto';
import { ProblemError } from '../errors.ts';
import type { ResourceVersion } from './operations.ts';

// Conditional requests. The ETag of a resource is "{kind}-{id}-{version}-{hash of the body}", so that no two resources, users or
// states share one. If-None-Match compares all of it. If-Match compares everything but the hash: the version says what was
// written. The version of a monitor has two parts, "settings.state", and If-Match compares only the settings, so that a check
// between reading and writing does not block an edit. A list has no version, so its ETag is the hash of its body.

export function etagOf(body: string, version: ResourceVersion | undefined): string {
  const digest = hash('sha256', body, 'hex').slice(0, 16);
  return version === undefined ? `"${digest}"` : `"${nameOf(version)}-${digest}"`;
}

/** Returns whether If-None-Match lists this ETag. */
export function matchesETag(ifNoneMatch: string | undefined, etag: string): boolean {
  return ifNoneMatch !== undefined && parseETags(ifNoneMatch).some((tag) => tag === '*' || `"${tag}"` === etag);
}

/** Throws unless If-Match is absent or lists this version of the resource. */
export function requireVersion(ifMatch: string | undefined, version: ResourceVersion) {
  requireETag(ifMatch, `"${nameOf(version)}-"`);
}

/** Throws unless If-Match is absent or lists this ETag. The hash is not compared. */
export function requireETag(ifMatch: string | undefined, etag: string) {
  const [current = ''] = parseETags(etag);
  if (ifMatch === undefined || parseETags(ifMatch).some((tag) => tag === '*' || settingsOf(tag) === settingsOf(current))) return;
  throw new ProblemError(
    'precondition_failed',
    'The resource no longer has a version listed in If-Match. Read it again and repeat the change.',
  );
}

/** The version numbers of this resource that If-Match allows. Undefined allows any. */
export function allowedVersions(ifMatch: string | undefined, kind: ResourceVersion['kind'], id: number): number[] | undefined {
  if (ifMatch === undefined) return undefined;
  const tags = parseETags(ifMatch);
  if (tags.includes('*')) return undefined;
  return tags
    .map((tag) => settingsOf(tag).split(`${kind}-${id}-`))
    .filter(([before, version = '']) => before === '' && /^[1-9]\d{0,8}$/.test(version))
    .map(([, version]) => Number(version));
}

function nameOf({ kind, id, number }: ResourceVersion): string {
  return `${kind}-${id}-${number}`;
}

/** Removes the hash, and the state from the version of a monitor. */
function settingsOf(tag: string): string {
  return tag.replace(/(\.\d+)?-[0-9a-f]*$/, '');
}

/** Removes the quotes, and the `W/` that proxies add when they compress a response. */
function parseETags(header: string): string[] {
  return header.split(',').map((tag) => {
    const [, quoted, bare] = /^\s*(?:W\/)?(?:"([^"]*)"|(\*))\s*$/.exec(tag) ?? [];
    return quoted ?? bare ?? '';
  });
}
