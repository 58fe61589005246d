import { Refusal } from '../errors.ts';

// Conditional requests. An ETag is the item's version in quotes. A monitor's has two parts, "settings.state": a read
// compares both, a write only the first, so that a check in between does not refuse an edit.

/** Whether If-None-Match names this version. */
export function isUnchanged(ifNoneMatch: string | undefined, version: string): boolean {
  return ifNoneMatch !== undefined && tagsOf(ifNoneMatch).some((tag) => tag === '*' || tag === version);
}

/** Refuses where If-Match names other versions than the one the item has. */
export function requireVersion(ifMatch: string | undefined, version: string) {
  if (ifMatch === undefined) return;
  const settings = (tag: string) => tag.split('.')[0];
  if (!tagsOf(ifMatch).some((tag) => tag === '*' || settings(tag) === settings(version))) {
    throw new Refusal('precondition_failed', 'The item is no longer the version that If-Match names. Read it again and repeat the change.');
  }
}

/** The versions of settings that If-Match names; undefined where any will do. */
export function namedVersions(ifMatch: string | undefined): number[] | undefined {
  if (ifMatch === undefined) return undefined;
  const tags = tagsOf(ifMatch);
  if (tags.includes('*')) return undefined;
  return tags
    .map((tag) => tag.split('.')[0] ?? '')
    .filter((tag) => /^[1-9]\d{0,8}$/.test(tag))
    .map(Number);
}

/** Without quotes, and without the W/ that proxies put in front when they compress. */
function tagsOf(header: string): string[] {
  return header.split(',').map((tag) => {
    const [, quoted, bare] = /^\s*(?:W\/)?(?:"([^"]*)"|(\*))\s*$/.exec(tag) ?? [];
    return quoted ?? bare ?? '';
  });
}
