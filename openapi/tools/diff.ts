// Compares the contract with the last released one, and fails if info.version does not match the changes:
//   node openapi/tools/diff.ts              compares
//   node openapi/tools/diff.ts --release    compares, and stores the contract as the released one
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { apis, bundleContract, root } from './bundle.ts';
import { type Change, contractChanges, type Level, levels } from './contract-changes.ts';
import type { Document } from './merge-documents.ts';

const releasedFile = (api: string) => join(root, 'openapi/released', `${api}.json`);
const changelogFile = join(root, 'openapi/CHANGELOG.md');

/** Returns the reasons why this contract cannot be released after the released one; none if it can. */
export function objections(released: Document[], current: Document[], changelog: string): string[] {
  const version = String(current[0]?.info.version);
  const found: string[] = [];
  if (current.some(({ info }) => info.version !== version)) found.push('The two APIs must have the same info.version.');
  if (!isNamed(version, changelog)) found.push(`openapi/CHANGELOG.md has no heading for ${version}.`);
  const [before] = released;
  if (!before) return found;
  const changes = allChanges(released, current);
  const needed = highestLevel(changes);
  const releasedVersion = String(before.info.version);
  const bump = versionBump(releasedVersion, version);
  if (bump === undefined) found.push(`info.version went from ${releasedVersion} back to ${version}.`);
  else if (levels.indexOf(bump) < levels.indexOf(needed)) {
    const reasons = changes.filter(({ level }) => level === needed).map(({ text }) => `  ${text}`);
    found.push(
      `The contract has changed since ${releasedVersion} and needs a new ${needed} version, not ${version}:\n${reasons.join('\n')}`,
    );
  }
  return found;
}

/** Any difference counts as a change, even if it does not affect clients. */
function allChanges(released: Document[], current: Document[]): Change[] {
  return current.flatMap((document, index) => {
    const before = released[index];
    if (!before || isDeepStrictEqual(before, document)) return [];
    return [...contractChanges(before, document), { level: 'patch' as const, text: `${apis[index]} differs from the released contract` }];
  });
}

function highestLevel(changes: Change[]): Level {
  return levels[Math.max(0, ...changes.map(({ level }) => levels.indexOf(level)))] ?? 'none';
}

/** Returns the part of the version that was increased, or undefined if the version was decreased. */
function versionBump(from: string, to: string): Level | undefined {
  const [before, after] = [from, to].map((version) => version.split('.').map(Number));
  for (const [index, level] of (['major', 'minor', 'patch'] as const).entries()) {
    const step = (after?.[index] ?? 0) - (before?.[index] ?? 0);
    if (step !== 0) return step > 0 ? level : undefined;
  }
  return 'none';
}

/** Returns whether the changelog has a heading for this version. */
export function isNamed(version: string, changelog: string): boolean {
  return changelog.split('\n').some((line) => line === `## ${version}` || line.startsWith(`## ${version} `));
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { release: { type: 'boolean', default: false } } });
  const current = await bundleContract();
  const files = apis.map(releasedFile);
  // There are no released files before the first release.
  const released = files.some(existsSync) ? files : [];
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
  } else if (released.length === 0) console.log('There is no released contract yet, so every change is allowed.');
  else console.log(`The contract version ${current[0]?.info.version} matches the changes since the last release.`);
}
