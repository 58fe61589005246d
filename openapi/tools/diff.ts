// Holds the contract against the last released one, and fails when the version does not say what changed:
//   node openapi/tools/diff.ts              compares
//   node openapi/tools/diff.ts --release    compares, and makes the contract of today the released one
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { apis, bundleContract, root } from './bundle.ts';
import { type Change, contractChanges, type Level, levels } from './contract-changes.ts';
import type { Document } from './merge-documents.ts';

const releasedFile = (api: string) => join(root, 'openapi/released', `${api}.json`);
const changelogFile = join(root, 'openapi/CHANGELOG.md');

/** What is wrong with this contract as the next one after the released one; nothing if it may be released. */
export function objections(released: Document[], current: Document[], changelog: string): string[] {
  const version = String(current[0]?.info.version);
  const found: string[] = [];
  if (current.some(({ info }) => info.version !== version)) found.push('The two APIs must have the same info.version.');
  if (!isNamed(version, changelog)) found.push(`openapi/CHANGELOG.md has no heading for ${version}.`);
  const [before] = released;
  if (!before) return found;
  const changes = allChanges(released, current);
  const needed = highest(changes);
  const releasedVersion = String(before.info.version);
  const moved = movement(releasedVersion, version);
  if (moved === undefined) found.push(`info.version went from ${releasedVersion} back to ${version}.`);
  else if (levels.indexOf(moved) < levels.indexOf(needed)) {
    const reasons = changes.filter(({ level }) => level === needed).map(({ text }) => `  ${text}`);
    found.push(`${releasedVersion} was released; what changed since needs a new ${needed} version, not ${version}:\n${reasons.join('\n')}`);
  }
  return found;
}

/** A contract that differs in any way has changed, even where nobody has to care. */
function allChanges(released: Document[], current: Document[]): Change[] {
  return current.flatMap((document, index) => {
    const before = released[index];
    if (!before || isDeepStrictEqual(before, document)) return [];
    return [...contractChanges(before, document), { level: 'patch' as const, text: `${apis[index]} is not what was released` }];
  });
}

function highest(changes: Change[]): Level {
  return levels[Math.max(0, ...changes.map(({ level }) => levels.indexOf(level)))] ?? 'none';
}

/** Which part of the version moved, undefined if it went back. */
function movement(from: string, to: string): Level | undefined {
  const [before, after] = [from, to].map((version) => version.split('.').map(Number));
  for (const [index, level] of (['major', 'minor', 'patch'] as const).entries()) {
    const step = (after?.[index] ?? 0) - (before?.[index] ?? 0);
    if (step !== 0) return step > 0 ? level : undefined;
  }
  return 'none';
}

export function isNamed(version: string, changelog: string): boolean {
  return changelog.split('\n').some((line) => line === `## ${version}` || line.startsWith(`## ${version} `));
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { release: { type: 'boolean', default: false } } });
  const current = await bundleContract();
  const files = apis.map(releasedFile);
  // None before the first release.
  const released = files.every(existsSync) ? files : [];
  const found = objections(
    released.map((file) => JSON.parse(readFileSync(file, 'utf8'))),
    current,
    readFileSync(changelogFile, 'utf8'),
  );
  for (const objection of found) console.error(objection);
  if (found.length > 0) process.exitCode = 1;
  else if (values.release) {
    mkdirSync(join(root, 'openapi/released'), { recursive: true });
    for (const [index, api] of apis.entries()) writeFileSync(releasedFile(api), `${JSON.stringify(current[index], null, 2)}\n`);
    console.log(`Released: ${current[0]?.info.version}.`);
  } else console.log(`The contract is ${current[0]?.info.version}, and the version says what changed since the last release.`);
}
