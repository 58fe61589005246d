// Makes everything in generated/ from the contract in openapi/:
//   node openapi/tools/generate.ts [--out DIR] [--without-client]
// The client needs Java; all the rest does not, so the tests can make that again and compare.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import openapiTS, { astToString } from 'openapi-typescript';
import { apis, bundleContract, root } from './bundle.ts';
import { generateClient } from './generate-client.ts';
import { generateCollection } from './generate-collection.ts';
import type { Document } from './merge-documents.ts';

export async function generateWithoutClient(out: string): Promise<Document[]> {
  mkdirSync(join(out, 'types'), { recursive: true });
  const documents = await bundleContract();
  for (const [index, document] of documents.entries()) {
    const api = apis[index];
    const types = astToString(await openapiTS(asHandlersSeeIt(document) as never));
    writeFileSync(join(out, `${api}.json`), `${JSON.stringify(document, null, 2)}\n`);
    writeFileSync(join(out, 'types', `${api}.ts`), `// Made by npm run generate from openapi/${api}. Do not edit.\n\n${types}`);
  }
  await generateCollection(documents, out);
  return documents;
}

/** A parameter with a default always reaches the handler, so its type has no undefined. */
function asHandlersSeeIt(document: Document): Document {
  return JSON.parse(JSON.stringify(document), (_, value) =>
    value?.in && value.schema?.default !== undefined ? { ...value, required: true } : value,
  );
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { out: { type: 'string', default: join(root, 'generated') }, 'without-client': { type: 'boolean', default: false } },
  });
  const documents = await generateWithoutClient(resolve(values.out));
  if (!values['without-client']) generateClient(documents, resolve(values.out));
}
