import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apis, root } from './bundle.ts';
import { type Document, mergeDocuments } from './merge-documents.ts';

/** The hand-written files of the package: the generator's configuration, package.json, README and some code. */
const packageSources = join(root, 'openapi/client');

/** Generates the client package: its code with openapi-generator, the other files from openapi/client. Requires Java. */
export function generateClient(documents: Document[], out: string) {
  const client = join(out, 'client');
  const scratch = mkdtempSync(join(tmpdir(), 'sitekeeper-generate-'));
  try {
    const document = join(scratch, 'sitekeeper.json');
    const merged = adaptForGenerator(mergeDocuments(documents));
    writeFileSync(document, JSON.stringify(merged));
    execFileSync(
      join(root, 'node_modules/.bin/openapi-generator-cli'),
      ['generate', '-g', 'typescript-fetch', '-i', document, '-o', join(scratch, 'src'), '-c', join(packageSources, 'generator.json')],
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
 * Adapts the document to get a better client. By default the generator names a body after its schema
 * (`createMonitor({ MonitorCreate: … })`), and turns an array with uniqueItems into a Set, although JSON has only arrays. It overlooks
 * that a value can be null if only one of several schemas says so.
 */
function adaptForGenerator(document: Document): Document {
  return JSON.parse(JSON.stringify(document), (field, value) => {
    if (field === 'uniqueItems') return undefined;
    if (value?.oneOf?.some((schema: { nullable?: boolean }) => schema.nullable)) return { ...value, nullable: true };
    return value?.operationId && value.requestBody ? { ...value, 'x-codegen-request-body-name': 'body' } : value;
  });
}

function addPackage(client: string, version: string) {
  cpSync(packageSources, client, { recursive: true, filter: (file) => !file.endsWith('generator.json') });
  cpSync(join(root, 'LICENSE'), join(client, 'LICENSE'));
  rewrite(join(client, 'package.json'), [['generated from info.version', version]]);
  rewrite(join(client, 'README.md'), [['<version>', version]]);
  // These two names exist only in the DOM types. Without them, a Node program needs no DOM types.
  rewrite(join(client, 'src/runtime.ts'), [
    ["WindowOrWorkerGlobalScope['fetch']", '(url: string, init: RequestInit) => Promise<Response>'],
    ['RequestCredentials', "NonNullable<RequestInit['credentials']>"],
  ]);
}

function rewrite(file: string, replacements: [string, string][]) {
  let text = readFileSync(file, 'utf8');
  for (const [from, to] of replacements) {
    if (!text.includes(from)) throw new Error(`${file} no longer contains "${from}".`);
    text = text.replaceAll(from, to);
  }
  writeFileSync(file, text);
}

/** A hash of the files that the client is generated from. The client is stale if its stored hash is different. */
export function clientFingerprint(bundleDirectory: string): string {
  const hash = createHash('sha256');
  const handWritten = globSync('**/*.*', { cwd: packageSources }).toSorted();
  const files = [
    ...apis.map((api) => join(bundleDirectory, `${api}.json`)),
    join(root, 'openapitools.json'),
    ...handWritten.map((file) => join(packageSources, file)),
  ];
  for (const file of files) hash.update(readFileSync(file));
  return hash.digest('hex');
}
