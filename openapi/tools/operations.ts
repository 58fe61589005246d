import type { Document } from './merge-documents.ts';

// biome-ignore lint/suspicious/noExplicitAny: the linter guarantees the fields of a contract
export type Json = any;

/** An operation of a bundled document, with what its requests and responses can contain. */
export interface Operation {
  /** The location in the document, as the linters print it. */
  at: string;
  definition: Json;
  /** The full path, with placeholders: `/api/v1/websites/{id}`. */
  path: string;
  /** The security schemes that it accepts. If empty, it requires no credentials. */
  credentials: string[];
  scopes: string[];
  /** The parameters in the path, the query string and the headers. */
  parameters: Json[];
  body?: { mediaType: string; schema: Json; example: Record<string, unknown> };
  responses: Record<string, Json>;
}

const methods = ['get', 'put', 'post', 'patch', 'delete'];

/** Returns every operation of the document. Responses and parameters have their references resolved. */
export function operationsOf(document: Document): Operation[] {
  const base = new URL(document.servers[0]?.url ?? '').pathname;
  return Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    methods
      .filter((method) => item[method])
      .map((method) => {
        const definition = item[method];
        const [[mediaType, content] = [undefined, undefined]] = Object.entries<Json>(definition.requestBody?.content ?? {});
        return {
          at: `paths.${path}.${method}`,
          definition,
          path: base + path,
          credentials: (definition.security ?? document.security ?? []).flatMap((scheme: object) => Object.keys(scheme)),
          scopes: definition['x-required-scopes'] ?? [],
          parameters: [...(item.parameters ?? []), ...(definition.parameters ?? [])].map((parameter) => resolve(document, parameter)),
          ...(mediaType && {
            body: { mediaType, schema: content.schema, example: Object.values<Json>(content.examples ?? {})[0]?.value ?? {} },
          }),
          responses: Object.fromEntries(
            Object.entries(definition.responses ?? {}).map(([status, response]) => [status, resolve(document, response)]),
          ),
        };
      }),
  );
}

/** What the rate limit of an operation counts by. */
export function callerOf({ definition, credentials }: Operation): 'token' | 'key' | 'session' | 'address' {
  if (definition['x-authentication'] === 'token') return 'token';
  if (credentials.includes('bearerKey')) return 'key';
  return credentials.length > 0 ? 'session' : 'address';
}

/** Returns the path with the examples of its parameters, or with other values. */
export function examplePath({ path, parameters }: Operation, values: Record<string, string> = {}): string {
  return path.replace(/\{(\w+)\}/g, (_, name) => {
    const example = parameters.find((parameter) => parameter.in === 'path' && parameter.name === name)?.example;
    return encodeURIComponent(values[name] ?? String(example));
  });
}

/** Follows a reference within the document. */
export function resolve(document: Document, part: Json): Json {
  if (!part?.$ref) return part;
  const steps: string[] = part.$ref.slice('#/'.length).split('/');
  return resolve(
    document,
    steps.reduce((at, step) => at?.[step.replaceAll('~1', '/').replaceAll('~0', '~')], document as Json),
  );
}

/** Returns the schema of a property, or undefined if there is none. In a union, it looks in every variant. */
export function propertySchema(document: Document, schema: Json, name: string): Json {
  const { type, items, properties, oneOf, anyOf, allOf } = resolve(document, schema) ?? {};
  if (type === 'array') return /^\d+$/.test(name) ? items : undefined;
  if (properties && Object.hasOwn(properties, name)) return properties[name];
  for (const variant of [oneOf, anyOf, allOf].flatMap((variants) => variants ?? [])) {
    const found = propertySchema(document, variant, name);
    if (found) return found;
  }
  return undefined;
}
