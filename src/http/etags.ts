import { ProblemError } from '../errors.ts';

// Conditional requests. An ETag is the resource's version in quotes. The version of a monitor has two parts,
// "settings.state": If-None-Match compares both, If-Match only the settings, so that a check between reading and writing
// does not block an edit.

/** Returns whether If-None-Match lists this version. */
export function matchesETag(ifNoneMatch: string | undefined, version: string): boolean {
  return ifNoneMatch !== undefined && parseETags(ifNoneMatch).some((tag) => tag === '*' || tag === version);
}

/** Throws unless If-Match is absent or lists this version. */
export function requireVersion(ifMatch: string | undefined, version: string) {
  if (ifMatch === undefined) return;
  const settings = (tag: string) => tag.split('.')[0];
  if (!parseETags(ifMatch).some((tag) => tag === '*' || settings(tag) === settings(version))) {
    throw new ProblemError(
      'precondition_failed',
      'The resource no longer has a version listed in If-Match. Read it again and repeat the change.',
    );
  }
}

/** The versions of the settings that If-Match allows. Undefined allows any. */
export function allowedVersions(ifMatch: string | undefined): number[] | undefined {
  if (ifMatch === undefined) return undefined;
  const tags = parseETags(ifMatch);
  if (tags.includes('*')) return undefined;
  return tags
    .map((tag) => tag.split('.')[0] ?? '')
    .filter((tag) => /^[1-9]\d{0,8}$/.test(tag))
    .map(Number);
}

/** Removes the quotes, and the `W/` that proxies add when they compress a response. */
function parseETags(header: string): string[] {
  return header.split(',').map((tag) => {
    const [, quoted, bare] = /^\s*(?:W\/)?(?:"([^"]*)"|(\*))\s*$/.exec(tag) ?? [];
    return quoted ?? bare ?? '';
  });
}
