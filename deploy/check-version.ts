// Fails unless everything that names a version names the same one:
//   node deploy/check-version.ts            what must hold in every commit
//   node deploy/check-version.ts v1.2.3     also what must hold for a release with this tag
// The contract has its own version: both APIs and the client share it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const read = (file: string) => readFileSync(join(import.meta.dirname, '..', file), 'utf8');
const readVersion = (file: string): unknown => JSON.parse(read(file)).version;
const errors: string[] = [];

function expectVersion(where: string, found: unknown, expected: unknown) {
  if (found !== expected) errors.push(`${where} has the version ${found}, but ${expected} is expected.`);
}

const version = readVersion('package.json');
expectVersion('package-lock.json', readVersion('package-lock.json'), version);
expectVersion('deploy/kubernetes/kustomization.yaml', /newTag: "(.*)"/.exec(read('deploy/kubernetes/kustomization.yaml'))?.[1], version);
for (const page of ['docs/install.md', 'docs/mock.md', 'deploy/database.env.example']) {
  // A file of the release, a directory, or an image.
  const named = read(page).matchAll(/sitekeeper[-:](\d+\.\d[\w.-]*?)(?=-deploy\.tar|\.tgz|[\s/`]|$)/gm);
  for (const [, found] of named) expectVersion(page, found, version);
}
const contract = JSON.parse(read('generated/websites.json')).info.version;
expectVersion('generated/monitoring.json', JSON.parse(read('generated/monitoring.json')).info.version, contract);
expectVersion('generated/client/package.json', readVersion('generated/client/package.json'), contract);

const [tag] = process.argv.slice(2);
if (tag !== undefined) {
  expectVersion('package.json', `v${version}`, tag);
  for (const [file, named] of Object.entries({ 'CHANGELOG.md': version, 'openapi/CHANGELOG.md': contract })) {
    const headings = read(file).match(/^## .*/gm) ?? [];
    const isReleased = headings.some((line) => /^## \[?([^\s\]]+)/.exec(line)?.[1] === named && !line.includes('not released'));
    if (!isReleased) errors.push(`${file} has no heading for ${named}.`);
  }
}
for (const error of errors) console.error(error);
process.exitCode = errors.length > 0 ? 1 : 0;
