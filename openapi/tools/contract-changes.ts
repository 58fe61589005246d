import { apiCompare, type Diff } from 'api-smart-diff';
import type { Document } from './merge-documents.ts';

/** The part of the version that a change must increase, from the lowest to the highest. */
export const levels = ['none', 'patch', 'minor', 'major'] as const;
export type Level = (typeof levels)[number];

export interface Change {
  level: Level;
  /** A human-readable description: the kind of change and its location in the contract. */
  text: string;
}

/** Compares two versions of a contract. api-smart-diff finds the changes and classifies most of them. */
export function contractChanges(before: Document, after: Document): Change[] {
  // It gets copies, because it merges allOf in place.
  const changes = apiCompare(structuredClone(before), structuredClone(after)).diffs.map((diff) => ({
    level: overrideLevel(diff) ?? levelOfType[diff.type],
    text: `${diff.action} ${diff.path.join(' / ')}`,
  }));
  return changes.filter(({ level }) => level !== 'none');
}

const levelOfType: Record<Diff['type'], Level> = {
  breaking: 'major',
  'non-breaking': 'minor',
  deprecated: 'minor',
  annotation: 'patch',
  // A change that cannot be classified is not safe.
  unclassified: 'major',
};

const textFields = ['description', 'summary', 'example', 'x-origin', 'x-pattern-message'];

/** Overrides the classification where api-smart-diff is wrong or ignores what clients rely on. */
function overrideLevel({ path, action, before, after }: Diff): Level | undefined {
  // paths / /websites / get / responses / 200 / headers / …
  const [top, , , section, , part] = path;
  const field = String(path.at(-1));
  const parent = path.at(-2);
  const isProperty = parent === 'properties';
  const inRequest = section === 'requestBody' || section === 'parameters';
  const inResponse = section === 'responses';

  if (top === 'info') return field === 'version' ? 'none' : 'patch';
  // x-immutable-properties only selects the message of a validation error.
  if (path.includes('examples') || path.includes('x-immutable-properties')) return 'patch';
  if (textFields.includes(field) && !isProperty) return 'patch';
  // Clients must accept values of such a list that they do not know.
  if (parent === 'x-extensible-enum' && action === 'add') return 'minor';
  // Clients depend on the base path, but not on the host.
  if (top === 'servers') return pathOf(before) === pathOf(after) ? 'patch' : 'major';
  if (top === 'components') return componentLevel(path, action);
  // An additional security scheme is harmless if there already was one. Any other change locks out some clients.
  if (top === 'security' || section === 'security') return action === 'add' && parent === 'security' && field !== '0' ? 'minor' : 'major';
  if (section === 'x-required-scopes') return action === 'remove' ? 'minor' : 'major';
  // The classes, methods and parameters of the generated client are named after these.
  if (action === 'rename' || section === 'operationId' || section === 'tags') return 'major';
  // Links are hints. The operations that they refer to are compared on their own.
  if (inResponse && part === 'links') return 'minor';
  if (inResponse && part === 'headers' && field === 'required') return after === true ? 'minor' : 'major';

  // A removed field is rejected as unknown, and a newly required field must be sent even if it has a default.
  if (inRequest && isProperty && action === 'remove') return 'major';
  if (inRequest && parent === 'required' && action === 'add') return 'major';
  // api-smart-diff treats a wider type in a response as harmless.
  if (['type', 'format'].includes(field) && !isProperty && action === 'replace') return 'major';
  if (field === 'nullable' && !isProperty) return inResponse === (after === true) ? 'major' : 'minor';
  return undefined;
}

/** The effect of a component on requests and responses is classified where it is used. */
function componentLevel(path: Diff['path'], action: Diff['action']): Level {
  const [, kind] = path;
  if (kind === 'securitySchemes') return action === 'add' ? 'minor' : 'major';
  // The types of the generated client are named after the schemas.
  return kind === 'schemas' && path.length === 3 && action !== 'add' ? 'major' : 'none';
}

function pathOf(url: unknown): string | undefined {
  return URL.parse(String(url))?.pathname;
}
