import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import converter, { type Conversion } from 'openapi-to-postmanv2';
import { type Document, mergeDocuments } from './merge-documents.ts';

// biome-ignore lint/suspicious/noExplicitAny: a contract and a collection are walked here, by fields that their own rules guarantee
type Json = any;

export const collectionFile = 'sitekeeper.postman_collection.json';

const options = {
  folderStrategy: 'Tags',
  parametersResolution: 'Example',
  // Optional parameters are listed, but not ticked.
  enableOptionalParameters: false,
};

/** Both APIs as a Postman collection, which Bruno, Insomnia and Hoppscotch import as well. */
export async function generateCollection(documents: Document[], out: string): Promise<void> {
  const document = withFormExamples(mergeDocuments(documents));
  const { output, reason } = await new Promise<Conversion>((resolve, reject) =>
    converter.convertV2({ type: 'json', data: document }, options, (error, conversion) => (error ? reject(error) : resolve(conversion))),
  );
  if (!output?.[0]) throw new Error(`The collection could not be made: ${reason}`);
  const collection = mended(output[0].data, summariesWithoutKey(document));
  writeFileSync(join(out, collectionFile), `${JSON.stringify(collection, null, 2)}\n`);
}

/** The converter takes the example of a form from its fields, and makes up a random value where there is none. */
function withFormExamples(document: Document): Document {
  const copy: Json = structuredClone(document);
  for (const { requestBody } of operations(copy)) {
    const form = requestBody?.content['application/x-www-form-urlencoded'];
    if (!form) continue;
    const named = form.schema.$ref?.split('/').at(-1);
    const schema = structuredClone(named ? copy.components.schemas[named] : form.schema);
    const examples: Json[] = Object.values(form.examples);
    for (const [name, field] of Object.entries<Json>(schema.properties)) {
      field.example = examples.find(({ value }) => name in value)?.value[name] ?? field.default ?? field.enum?.[0] ?? '';
    }
    form.schema = schema;
  }
  return copy;
}

/** Stable, so that it can be compared, and small: without random ids, and without the saved answers, which are megabytes. */
function mended(data: unknown, withoutKey: Set<string>): Json {
  const collection = JSON.parse(JSON.stringify(data), (field, value) => {
    if (['id', '_postman_id', 'event'].includes(field)) return undefined;
    if (field === 'response') return [];
    return value === '{{bearerToken}}' ? '{{apiKey}}' : value;
  });
  collection.variable.push({ key: 'apiKey', value: '' });
  for (const { name, request } of collection.item.flatMap((folder: Json) => folder.item)) {
    // Absent means: the key of the collection.
    delete request.auth;
    // A session lives in the tool's cookies.
    if (withoutKey.has(name)) request.auth = { type: 'noauth' };
    // Some tools read only this.
    request.url.raw = `{{baseUrl}}/${request.url.path.join('/')}`;
  }
  return collection;
}

function summariesWithoutKey(document: Document): Set<string> {
  const open = operations(document).filter(({ security }) => security && !security.some((way: object) => 'bearerKey' in way));
  return new Set(open.map(({ summary }) => summary));
}

function operations(document: Document): Json[] {
  return Object.values<Json>(document.paths).flatMap((item) => Object.values<Json>(item).filter((operation) => operation?.operationId));
}
