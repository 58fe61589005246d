// Makes everything in generated/ from the contract in openapi/:
//   node openapi/tools/generate.ts [--out DIR] [--without-client]
// The client needs Java; bundles and types do not, so the tests can make those again and compare.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import openapiTS, { astToString } from 'openapi-typescript';
import { apis, bundleContract, root } from './bundle.ts';
import { type Document, mergeDocuments } from './merge-documents.ts';

export async function generateBundlesAndTypes(out: string): Promise<Document[]> {
  mkdirSync(join(out, 'types'), { recursive: true });
  const documents = await bundleContract();
  for (const [index, document] of documents.entries()) {
    const api = apis[index];
    const types = astToString(await openapiTS(asHandlersSeeIt(document) as never));
    writeFileSync(join(out, `${api}.json`), `${JSON.stringify(document, null, 2)}\n`);
    writeFileSync(join(out, 'types', `${api}.ts`), `// Made by npm run generate from openapi/${api}. Do not edit.\n\n${types}`);
  }
  return documents;
}

/** A parameter with a default always reaches the handler, so its type has no undefined. */
function asHandlersSeeIt(document: Document): Document {
  return JSON.parse(JSON.stringify(document), (_, value) =>
    value?.in && value.schema?.default !== undefined ? { ...value, required: true } : value,
  );
}

/** What the client was made from: a client with another fingerprint than the bundles beside it is stale. */
export function clientFingerprint(bundlesFolder: string): string {
  const hash = createHash('sha256');
  for (const api of apis) hash.update(readFileSync(join(bundlesFolder, `${api}.json`)));
  hash.update(readFileSync(join(root, 'openapitools.json')));
  hash.update(readFileSync(join(root, 'openapi/tools/client.config.json')));
  return hash.digest('hex');
}

function generateClient(documents: Document[], out: string) {
  const client = join(out, 'client');
  const scratch = mkdtempSync(join(tmpdir(), 'sitekeeper-generate-'));
  try {
    const merged = join(scratch, 'sitekeeper.json');
    writeFileSync(merged, JSON.stringify(mergeDocuments(documents)));
    rmSync(client, { recursive: true, force: true });
    execFileSync(
      join(root, 'node_modules/.bin/openapi-generator-cli'),
      ['generate', '-g', 'typescript-fetch', '-i', merged, '-o', client, '-c', 'openapi/tools/client.config.json'],
      { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] },
    );
  } finally {
    rmSync(scratch, { recursive: true });
  }
  writeFileSync(join(client, 'CONTRACT.sha256'), `${clientFingerprint(out)}\n`);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { out: { type: 'string', default: join(root, 'generated') }, 'without-client': { type: 'boolean', default: false } },
  });
  const documents = await generateBundlesAndTypes(resolve(values.out));
  if (!values['without-client']) generateClient(documents, resolve(values.out));
}
