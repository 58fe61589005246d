import { apiCompare, type Diff } from 'api-smart-diff';
import type { Document } from './merge-documents.ts';

/** How far a change must move the version, in rising order. */
export const levels = ['none', 'patch', 'minor', 'major'] as const;
export type Level = (typeof levels)[number];

export interface Change {
  level: Level;
  /** What happened where, for people. */
  text: string;
}

/** What changed from one contract to the next. api-smart-diff finds the changes and judges most of them. */
export function contractChanges(before: Document, after: Document): Change[] {
  // Copies, because it merges the allOf of what it is given in place.
  const changes = apiCompare(structuredClone(before), structuredClone(after)).diffs.map((diff) => ({
    level: ownJudgement(diff) ?? judgementOf[diff.type],
    text: `${diff.action} ${diff.path.join(' / ')}`,
  }));
  return changes.filter(({ level }) => level !== 'none');
}

const judgementOf: Record<Diff['type'], Level> = {
  breaking: 'major',
  'non-breaking': 'minor',
  deprecated: 'minor',
  annotation: 'patch',
  // What nobody could judge is not safe.
  unclassified: 'major',
};

const texts = ['description', 'summary', 'example', 'x-origin'];

/** Where api-smart-diff misjudges, or knows nothing of what our consumers rely on. */
function ownJudgement({ path, action, before, after }: Diff): Level | undefined {
  // paths / /websites / get / responses / 200 / headers / …
  const [top, , , section, , part] = path;
  const field = String(path.at(-1));
  const parent = path.at(-2);
  const isProperty = parent === 'properties';
  const inRequest = section === 'requestBody' || section === 'parameters';
  const inResponse = section === 'responses';

  if (top === 'info') return field === 'version' ? 'none' : 'patch';
  if (path.includes('examples') || (texts.includes(field) && !isProperty)) return 'patch';
  // The path is part of every address; the host is not.
  if (top === 'servers') return pathOf(before) === pathOf(after) ? 'patch' : 'major';
  if (top === 'components') return componentJudgement(path, action);
  // One more way to sign in is fine, where there was one; everything else locks somebody out.
  if (top === 'security' || section === 'security') return action === 'add' && parent === 'security' && field !== '0' ? 'minor' : 'major';
  if (section === 'x-required-scopes') return action === 'remove' ? 'minor' : 'major';
  // The client's classes, methods and parameters are named by these.
  if (action === 'rename' || section === 'operationId' || section === 'tags') return 'major';
  // Hints; what they lead to is judged where it stands.
  if (inResponse && part === 'links') return 'minor';
  if (inResponse && part === 'headers' && field === 'required') return after === true ? 'minor' : 'major';

  // A field that is gone is refused as unknown, and one that must be sent is missed even where it has a default.
  if (inRequest && isProperty && action === 'remove') return 'major';
  if (inRequest && parent === 'required' && action === 'add') return 'major';
  // Judged as if a wider type in an answer were welcome.
  if (['type', 'format'].includes(field) && !isProperty && action === 'replace') return 'major';
  if (field === 'nullable' && !isProperty) return inResponse === (after === true) ? 'major' : 'minor';
  return undefined;
}

/** What a component means for requests and answers is judged where they use it. */
function componentJudgement(path: Diff['path'], action: Diff['action']): Level {
  const [, kind] = path;
  if (kind === 'securitySchemes') return action === 'add' ? 'minor' : 'major';
  // The client's types are named by the schemas.
  return kind === 'schemas' && path.length === 3 && action !== 'add' ? 'major' : 'none';
}

function pathOf(url: unknown): string | undefined {
  return URL.parse(String(url))?.pathname;
}
