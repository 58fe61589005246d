import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import converter, { type Conversion } from 'openapi-to-postmanv2';
import { type Document, mergeDocuments } from './merge-documents.ts';

// biome-ignore lint/suspicious/noExplicitAny: the linter guarantees the fields of a contract, and Postman's schema those of a collection
type Json = any;

export const collectionFile = 'sitekeeper.postman_collection.json';

const options = {
  folderStrategy: 'Tags',
  parametersResolution: 'Example',
  // Optional parameters are listed but disabled.
  enableOptionalParameters: false,
};

/** Writes both APIs as one Postman collection, which Bruno, Insomnia and Hoppscotch can also import. */
export async function generateCollection(documents: Document[], out: string): Promise<void> {
  const document = addFieldExamples(mergeDocuments(documents));
  const { output, reason } = await new Promise<Conversion>((resolve, reject) =>
    converter.convertV2({ type: 'json', data: document }, options, (error, conversion) => (error ? reject(error) : resolve(conversion))),
  );
  if (!output?.[0]) throw new Error(`The collection could not be generated: ${reason}`);
  const collection = normalizeCollection(output[0].data, summariesWithoutKey(document));
  writeFileSync(join(out, collectionFile), `${JSON.stringify(collection, null, 2)}\n`);
}

/** Copies the examples of forms to their fields: the converter reads only those, and invents a random value if there is none. */
function addFieldExamples(document: Document): Document {
  const copy: Json = structuredClone(document);
  for (const { requestBody } of operations(copy)) {
    const form = requestBody?.content['application/x-www-form-urlencoded'];
    if (!form) continue;
    const schemaName = form.schema.$ref?.split('/').at(-1);
    const schema = structuredClone(schemaName ? copy.components.schemas[schemaName] : form.schema);
    const examples: Json[] = Object.values(form.examples);
    for (const [name, field] of Object.entries<Json>(schema.properties)) {
      field.example = examples.find(({ value }) => name in value)?.value[name] ?? field.default ?? field.enum?.[0] ?? '';
    }
    form.schema = schema;
  }
  return copy;
}

/** Removes random ids, so that the output is reproducible, and the saved responses, which are several megabytes. */
function normalizeCollection(data: unknown, withoutKey: Set<string>): Json {
  const collection = JSON.parse(JSON.stringify(data), (field, value) => {
    if (['id', '_postman_id', 'event'].includes(field)) return undefined;
    if (field === 'response') return [];
    return value === '{{bearerToken}}' ? '{{apiKey}}' : value;
  });
  collection.variable.push({ key: 'apiKey', value: '' });
  for (const { name, request } of collection.item.flatMap((folder: Json) => folder.item)) {
    // Without its own auth, a request uses the API key of the collection.
    delete request.auth;
    // Operations that take no key use a session, which the tool keeps in its cookies, or no credentials.
    if (withoutKey.has(name)) request.auth = { type: 'noauth' };
    // Some tools read only the raw URL.
    request.url.raw = `{{baseUrl}}/${request.url.path.join('/')}`;
  }
  return collection;
}

function summariesWithoutKey(document: Document): Set<string> {
  const open = operations(document).filter(({ security }) => security && !security.some((scheme: object) => 'bearerKey' in scheme));
  return new Set(open.map(({ summary }) => summary));
}

function operations(document: Document): Json[] {
  return Object.values<Json>(document.paths).flatMap((item) => Object.values<Json>(item).filter((operation) => operation?.operationId));
}
