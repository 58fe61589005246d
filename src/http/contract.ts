import { setTimeout as delay } from 'node:timers/promises';
import { Ajv, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import { type Document, type Operation as DocumentOperation, OpenAPIBackend } from 'openapi-backend';
import type { Scope } from '../auth/scopes.ts';

/** A parameter as declared in the contract. */
export interface Parameter {
  in: 'path' | 'query' | 'header';
  name: string;
  schema: { type?: string };
}

/** An operation of the contract, with everything that can be computed before the first request. */
export interface Operation {
  id: string;
  method: string;
  /** The path with its parameters as names, such as `/api/monitors/{id}`. */
  route: string;
  scopes: Scope[];
  /** The credentials it accepts. None means that it is public. */
  credentials: ('bearerKey' | 'sessionCookie')[];
  /** Whether the token in its path is the credential. The handler looks it up, and reports one that is unknown as not found. */
  hasTokenInPath: boolean;
  /** Whether it declares 406. The others ignore the Accept header, because a job that sends a fixed one must not lose its request. */
  checksAccept: boolean;
  parameters: Parameter[];
  body?: OperationBody;
  /** The 2xx statuses, in ascending order. */
  successStatuses: number[];
  /** Compiled at the first call. */
  validators(): ValidateFunction[];
}

export interface OperationBody {
  mediaType: string;
  schema: BodySchema;
  fields: Record<string, { type?: string }>;
  /** The fields that clients may send back as they were read. They are validated and then ignored. */
  readOnlyFields: string[];
  variants?: Variants;
}

/** The variants of a body with a discriminator, such as the provider types: the fields of each, by the discriminator's value. */
export interface Variants {
  discriminator: string;
  fields: Record<string, string[]>;
}

export type Match = { operation: Operation; pathParameters: Record<string, string> } | { allow: string[] } | undefined;

interface Route {
  pattern: RegExp;
  names: string[];
  operations: Map<string, Operation>;
}

const compileIntervalMs = 30;

/** One API, loaded from its bundled OpenAPI document. It finds the operation of a request. */
export class Contract {
  readonly operations: Operation[] = [];
  readonly #routes: Route[] = [];

  static async load(document: Document, basePath = ''): Promise<Contract> {
    const ajv = createRequestAjv();
    const api = new OpenAPIBackend({
      definition: withPlainDiscriminators(document),
      // `npm run lint:spec` validates the document, and the tests validate responses. The service does neither.
      quick: true,
      customizeAjv: () => ajv,
    });
    await api.init();
    const contract = new Contract(api, basePath);
    void contract.#compile();
    return contract;
  }

  private constructor(api: OpenAPIBackend, basePath: string) {
    for (const source of api.router.getOperations()) {
      const operation = toOperation(source, basePath, (id) => api.validator.getRequestValidatorsForOperation(id) ?? []);
      this.operations.push(operation);
      this.#addRoute(source.path, operation);
    }
    // /a/b must match before /a/{id}: a route with fewer parameters is more specific.
    this.#routes.sort((a, b) => a.names.length - b.names.length);
  }

  /** Compiles the validators in the background, so that neither the start nor the first requests wait for them. */
  async #compile() {
    for (const operation of this.operations) {
      await delay(compileIntervalMs, undefined, { ref: false });
      operation.validators();
    }
  }

  /** `path` is relative to the API's base path. Routes are compiled once; openapi-backend would compile them for every request. */
  match(method: string, path: string): Match {
    for (const { pattern, names, operations } of this.#routes) {
      const values = pattern.exec(path);
      if (!values) continue;
      const operation = operations.get(method);
      if (!operation) return { allow: methodsOf(operations) };
      const decoded = values.slice(1).map(decodeSegment);
      if (decoded.includes(undefined)) return undefined;
      return { operation, pathParameters: Object.fromEntries(names.map((name, index) => [name, decoded[index] ?? ''])) };
    }
    return undefined;
  }

  #addRoute(path: string, operation: Operation) {
    const names = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name = '']) => name);
    const pattern = new RegExp(`^${path.replace(/\{[^}]+\}/g, '([^/]+)')}$`);
    let route = this.#routes.find((known) => known.pattern.source === pattern.source);
    if (!route) {
      route = { pattern, names, operations: new Map() };
      this.#routes.push(route);
    }
    route.operations.set(operation.method, operation);
    // HEAD is handled like GET; Node does not send the body.
    if (operation.method === 'GET') route.operations.set('HEAD', operation);
  }
}

function toOperation(source: DocumentOperation, basePath: string, validatorsOf: (id: string) => ValidateFunction[]): Operation {
  // getOperations() returns the dereferenced document, which contains no $ref.
  const requestBody = source.requestBody as { content: Record<string, { schema: BodySchema }> } | undefined;
  const [media] = Object.entries(requestBody?.content ?? {});
  const { operationId: id = '' } = source;
  return {
    id,
    method: source.method.toUpperCase(),
    route: `${basePath}${source.path}`,
    scopes: (source as { 'x-required-scopes'?: Scope[] })['x-required-scopes'] ?? [],
    credentials: (source.security ?? []).flatMap((entry) => Object.keys(entry)) as Operation['credentials'],
    hasTokenInPath: (source as { 'x-authentication'?: string })['x-authentication'] === 'token',
    checksAccept: '406' in (source.responses ?? {}),
    parameters: (source.parameters ?? []) as Parameter[],
    ...(requestBody && media && { body: { mediaType: media[0], schema: media[1].schema, ...fieldsOf(media[1].schema) } }),
    successStatuses: Object.keys(source.responses ?? {})
      .map(Number)
      .filter((status) => status < 300)
      .sort(),
    validators: () => validatorsOf(id),
  };
}

export interface BodySchema {
  type?: string;
  enum?: string[];
  readOnly?: boolean;
  maxLength?: number;
  maxItems?: number;
  items?: BodySchema;
  properties?: Record<string, BodySchema>;
  oneOf?: BodySchema[];
  anyOf?: BodySchema[];
  discriminator?: { propertyName: string };
}

function fieldsOf({ properties = {}, oneOf = [], discriminator }: BodySchema): Omit<OperationBody, 'mediaType' | 'schema'> {
  const readOnlyFields = Object.keys(properties).filter((name) => properties[name]?.readOnly);
  if (!discriminator) return { fields: properties, readOnlyFields };
  const { propertyName } = discriminator;
  const fields = oneOf.map(({ properties = {} }) => [properties[propertyName]?.enum?.[0] ?? '', Object.keys(properties)] as const);
  return { fields: properties, readOnlyFields, variants: { discriminator: propertyName, fields: Object.fromEntries(fields) } };
}

function methodsOf(operations: Map<string, Operation>): string[] {
  return [...operations.keys(), 'OPTIONS'];
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

function createRequestAjv(): Ajv {
  // input.ts has already parsed values to their declared types, so nothing is coerced here. Defaults are filled in; the
  // schemas of updates declare none.
  const ajv = new Ajv({ strict: false, allErrors: true, useDefaults: true, discriminator: true, verbose: true });
  formats.default(ajv);
  return ajv;
}

/** Removes the mappings of discriminators, which Ajv rejects, and adds `type: object`, without which Ajv accepts other values. */
function withPlainDiscriminators(document: Document): Document {
  return JSON.parse(JSON.stringify(document), (key, value) => {
    if (key === 'discriminator') return { propertyName: value.propertyName };
    return value?.discriminator ? { type: 'object', ...value } : value;
  });
}
