import { setTimeout as pause } from 'node:timers/promises';
import { Ajv, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import { type Document, type Operation as DocumentOperation, OpenAPIBackend } from 'openapi-backend';
import type { Scope } from '../access/scopes.ts';

/** A parameter or form field as the contract describes it. */
export interface Field {
  in: 'path' | 'query' | 'header';
  name: string;
  schema: { type?: string };
}

/** An operation of the contract with all that can be worked out before the first request. */
export interface Operation {
  id: string;
  method: string;
  scopes: Scope[];
  /** Which credentials it takes; none means that everybody may call it. */
  credentials: ('bearerKey' | 'sessionCookie')[];
  parameters: Field[];
  body?: { mediaType: string; fields: Record<string, { type?: string }>; union?: Union };
  /** The statuses of success, the lowest first. */
  successes: number[];
  /** Compiled when they are first asked for. */
  validators(): ValidateFunction[];
}

/** A body that is one of several kinds: the field that tells them apart, and the fields of each kind by its value. */
export interface Union {
  tag: string;
  kinds: Record<string, string[]>;
}

export type Match = { operation: Operation; pathParameters: Record<string, string> } | { allow: string[] } | undefined;

interface Route {
  pattern: RegExp;
  names: string[];
  operations: Map<string, Operation>;
}

const compilePauseMs = 30;

/** One API by its bundled document: finds the operation for a request, and knows what each operation asks for. */
export class Contract {
  readonly operations: Operation[] = [];
  readonly #routes: Route[] = [];

  static async load(document: Document): Promise<Contract> {
    const ajv = requestAjv();
    const api = new OpenAPIBackend({
      definition: withPlainDiscriminators(document),
      // The document was checked when it was bundled; responses are held against it in the tests, not at every start.
      quick: true,
      customizeAjv: () => ajv,
    });
    await api.init();
    const contract = new Contract(api);
    void contract.#compile();
    return contract;
  }

  private constructor(api: OpenAPIBackend) {
    for (const described of api.router.getOperations()) {
      const operation = describe(described, (id) => api.validator.getRequestValidatorsForOperation(id) ?? []);
      this.operations.push(operation);
      this.#addRoute(described.path, operation);
    }
    // /a/b before /a/{id}: the fewer parameters, the more exact.
    this.#routes.sort((a, b) => a.names.length - b.names.length);
  }

  /** One after the other beside the start, which does not wait for it; the first requests seldom find one missing. */
  async #compile() {
    for (const operation of this.operations) {
      await pause(compilePauseMs, undefined, { ref: false });
      operation.validators();
    }
  }

  /** `path` is relative to the API's root. The routes are compiled once; openapi-backend compiles them at every request. */
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
    // HEAD is answered like GET, and the server leaves the body out.
    if (operation.method === 'GET') route.operations.set('HEAD', operation);
  }
}

function describe(described: DocumentOperation, validatorsOf: (id: string) => ValidateFunction[]): Operation {
  // getOperations() returns the dereferenced document, in which no $ref is left.
  const requestBody = described.requestBody as { content: Record<string, { schema: BodySchema }> } | undefined;
  const [media] = Object.entries(requestBody?.content ?? {});
  const { operationId: id = '' } = described;
  return {
    id,
    method: described.method.toUpperCase(),
    scopes: (described as { 'x-required-scopes'?: Scope[] })['x-required-scopes'] ?? [],
    credentials: (described.security ?? []).flatMap((entry) => Object.keys(entry)) as Operation['credentials'],
    parameters: (described.parameters ?? []) as Field[],
    ...(requestBody && media && { body: { mediaType: media[0], ...describeBody(media[1].schema) } }),
    successes: Object.keys(described.responses ?? {})
      .map(Number)
      .filter((status) => status < 300)
      .sort(),
    validators: () => validatorsOf(id),
  };
}

interface BodySchema {
  properties?: Record<string, { type?: string; enum?: string[] }>;
  oneOf?: BodySchema[];
  discriminator?: { propertyName: string };
}

function describeBody({
  properties = {},
  oneOf = [],
  discriminator,
}: BodySchema): Pick<NonNullable<Operation['body']>, 'fields' | 'union'> {
  if (!discriminator) return { fields: properties };
  const tag = discriminator.propertyName;
  const kinds = oneOf.map((kind) => [kind.properties?.[tag]?.enum?.[0] ?? '', Object.keys(kind.properties ?? {})] as const);
  return { fields: properties, union: { tag, kinds: Object.fromEntries(kinds) } };
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

function requestAjv(): Ajv {
  // Values arrive with the types that the contract names (input.ts), so nothing is coerced here. Defaults are filled in;
  // the schemas of updates have none.
  const ajv = new Ajv({ strict: false, allErrors: true, useDefaults: true, discriminator: true, verbose: true });
  formats.default(ajv);
  return ajv;
}

/** Ajv knows discriminators, but refuses a mapping (each branch says its own value already) and passes all that is no object. */
function withPlainDiscriminators(document: Document): Document {
  return JSON.parse(JSON.stringify(document), (key, value) => {
    if (key === 'discriminator') return { propertyName: value.propertyName };
    return value?.discriminator ? { type: 'object', ...value } : value;
  });
}
