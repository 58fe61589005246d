// A release is published only if everything that names a version names the same one.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import websites from '../../generated/websites.json' with { type: 'json' };
import packageJson from '../../package.json' with { type: 'json' };

const root = join(import.meta.dirname, '../..');
const { version } = packageJson;
const contract = websites.info.version;
const checked = [
  'package.json',
  'package-lock.json',
  'CHANGELOG.md',
  'openapi/CHANGELOG.md',
  'docs/install.md',
  'docs/mock.md',
  'generated/websites.json',
  'generated/monitoring.json',
  'generated/client/package.json',
  'deploy/check-version.ts',
  'deploy/database.env.example',
  'deploy/kubernetes/kustomization.yaml',
];
let copy: string;

beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), 'sitekeeper-release-'));
  for (const file of checked) cpSync(join(root, file), join(copy, file));
  edit('CHANGELOG.md', '## [Unreleased]', `## [Unreleased]\n\n## [${version}] - 2099-01-01`);
  writeFileSync(join(copy, 'openapi/CHANGELOG.md'), `## ${contract}\n`);
});
afterEach(() => rmSync(copy, { recursive: true }));

function edit(file: string, from: string, to: string) {
  const text = readFileSync(join(copy, file), 'utf8');
  if (!text.includes(from)) throw new Error(`${file} does not contain ${from}.`);
  writeFileSync(join(copy, file), text.replaceAll(from, to));
}

function check(...args: string[]) {
  const { status, stderr } = spawnSync(process.execPath, [join(copy, 'deploy/check-version.ts'), ...args], { encoding: 'utf8' });
  return { status, stderr };
}

test('the versions in this checkout match', () => {
  expect(check()).toEqual({ status: 0, stderr: '' });
  expect(check(`v${version}`)).toEqual({ status: 0, stderr: '' });
});

test.each(['v99.0.0', version, `v${version}-rc.1`, ''])('the tag %j is rejected', (tag) => {
  expect(check(tag)).toEqual({ status: 1, stderr: `package.json has the version v${version}, but ${tag} is expected.\n` });
});

test.each([
  ['package-lock.json', `"version": "${version}"`, '"version": "99.0.0"'],
  ['deploy/kubernetes/kustomization.yaml', `"${version}"`, '"99.0.0"'],
  ['docs/install.md', `sitekeeper-${version}.tgz`, 'sitekeeper-99.0.0.tgz'],
  ['docs/install.md', `sitekeeper-${version}-deploy.tar.gz`, 'sitekeeper-99.0.0-deploy.tar.gz'],
  ['deploy/database.env.example', `sitekeeper:${version}`, 'sitekeeper:99.0.0'],
  ['docs/mock.md', `sitekeeper-${version}.tgz`, 'sitekeeper-99.0.0.tgz'],
  ['generated/monitoring.json', `"version": "${contract}"`, '"version": "99.0.0"'],
  ['generated/client/package.json', `"version": "${contract}"`, '"version": "99.0.0"'],
])('another version in %s is named', (file, from, to) => {
  edit(file, from, to);
  const { status, stderr } = check();
  expect([status, stderr]).toEqual([1, expect.stringContaining(`${file} has the version 99.0.0, but `)]);
});

test.each([
  ['CHANGELOG.md', `## [${version}]`, '## [99.0.0]', version],
  ['openapi/CHANGELOG.md', `## ${contract}`, `## ${contract} (not released)`, contract],
])('a release needs a heading in %s', (file, from, to, named) => {
  edit(file, from, to);
  expect(check().status).toBe(0);
  expect(check(`v${version}`)).toEqual({ status: 1, stderr: `${file} has no heading for ${named}.\n` });
});
