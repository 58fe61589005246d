import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apis, root } from './bundle.ts';
import { type Document, mergeDocuments } from './merge-documents.ts';

/** What is written by hand in the package: how to generate, package.json, README, and a few lines of code. */
const byHand = join(root, 'openapi/client');

/** The client as a package: code by openapi-generator, the rest from openapi/client. Needs Java. */
export function generateClient(documents: Document[], out: string) {
  const client = join(out, 'client');
  const scratch = mkdtempSync(join(tmpdir(), 'sitekeeper-generate-'));
  try {
    const document = join(scratch, 'sitekeeper.json');
    const merged = asTheGeneratorLikesIt(mergeDocuments(documents));
    writeFileSync(document, JSON.stringify(merged));
    execFileSync(
      join(root, 'node_modules/.bin/openapi-generator-cli'),
      ['generate', '-g', 'typescript-fetch', '-i', document, '-o', join(scratch, 'src'), '-c', join(byHand, 'generator.json')],
      { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] },
    );
    rmSync(client, { recursive: true, force: true });
    cpSync(join(scratch, 'src'), join(client, 'src'), { recursive: true, filter: (file) => !file.includes('.openapi-generator') });
    addPackage(client, String(merged.info.version));
  } finally {
    rmSync(scratch, { recursive: true });
  }
  writeFileSync(join(client, 'CONTRACT.sha256'), `${clientFingerprint(out)}\n`);
}

/**
 * A body would be named by its schema, in capitals (`createMonitor({ MonitorCreate: … })`), and an array without doubles
 * would be a Set, which no JSON shows.
 */
function asTheGeneratorLikesIt(document: Document): Document {
  return JSON.parse(JSON.stringify(document), (field, value) => {
    if (field === 'uniqueItems') return undefined;
    return value?.operationId && value.requestBody ? { ...value, 'x-codegen-request-body-name': 'body' } : value;
  });
}

function addPackage(client: string, version: string) {
  cpSync(byHand, client, { recursive: true, filter: (file) => !file.endsWith('generator.json') });
  cpSync(join(root, 'LICENSE'), join(client, 'LICENSE'));
  rewrite(join(client, 'package.json'), [['made from info.version', version]]);
  rewrite(join(client, 'README.md'), [['sitekeeper-client-1.0.0', `sitekeeper-client-${version}`]]);
  // So that a Node program needs no DOM types: these two names are only there.
  rewrite(join(client, 'src/runtime.ts'), [
    ["WindowOrWorkerGlobalScope['fetch']", '(url: string, init: RequestInit) => Promise<Response>'],
    ['RequestCredentials', "NonNullable<RequestInit['credentials']>"],
  ]);
}

function rewrite(file: string, replacements: [string, string][]) {
  let text = readFileSync(file, 'utf8');
  for (const [from, to] of replacements) {
    if (!text.includes(from)) throw new Error(`${file} has no "${from}" any more.`);
    text = text.replaceAll(from, to);
  }
  writeFileSync(file, text);
}

/** What the client was made from: a client with another fingerprint than the bundles beside it is stale. */
export function clientFingerprint(bundlesFolder: string): string {
  const hash = createHash('sha256');
  const ours = globSync('**/*.*', { cwd: byHand }).toSorted();
  const files = [
    ...apis.map((api) => join(bundlesFolder, `${api}.json`)),
    join(root, 'openapitools.json'),
    ...ours.map((file) => join(byHand, file)),
  ];
  for (const file of files) hash.update(readFileSync(file));
  return hash.digest('hex');
}
