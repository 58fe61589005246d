// Types that bind a handler to its operation in the contract.
import type { Caller } from '../auth/caller.ts';
import type { ValidationError } from '../errors.ts';

interface AnyOperation {
  parameters: { path?: unknown; query?: unknown; header?: unknown };
  requestBody?: unknown;
  responses: object;
}

/** Parameters that are not declared become an empty object. */
type Declared<T> = [NonNullable<T>] extends [never] ? Record<never, never> : NonNullable<T>;
type BodyOf<RequestBody> = RequestBody extends { content: infer Content } ? Content[keyof Content] : undefined;
type SuccessOf<Responses> = { [Status in keyof Responses & (200 | 201 | 202)]: BodyOf<Responses[Status]> }[keyof Responses &
  (200 | 201 | 202)];

/** The validated request: every value has the type that the contract declares, and defaults are filled in. */
export interface Input<Operation extends AnyOperation> {
  path: Declared<Operation['parameters']['path']>;
  query: Declared<Operation['parameters']['query']>;
  body: BodyOf<Operation['requestBody']>;
  /** The path and the query string as sent, for links to other pages. */
  url: { path: string; query: string };
}

/** A version of one resource. The number of a monitor has two parts, "settings.state". */
export interface ResourceVersion {
  kind: 'website' | 'monitor' | 'provider';
  id: number;
  number: number | string;
}

/** What a handler gets besides its input. `Db` is the database limited to the caller's rows; it is opaque to http/. */
export interface HandlerContext<Db> {
  caller: Caller;
  /** The client's address. */
  address: string;
  db: Db;
  /** Throws unless If-Match allows this version. It explains why a conditional write changed nothing. */
  requireVersion(version: ResourceVersion): void;
  /** The version numbers of a resource that If-Match allows, for use in a conditional write. Of a monitor, those of its settings. Undefined allows any. */
  allowedVersions(kind: ResourceVersion['kind'], id: number): number[] | undefined;
}

/** `name` is the word for it in messages: website, API key. */
export interface CreatedResource {
  name: string;
  id: number;
  /** Whether a later request can read it completely, secrets included. */
  canBeRead?: true;
  /** What a client that did not get the response can do, as the end of a sentence. */
  advice?: string;
}

export interface HandlerResult<Body> {
  body: Body;
  /** The URL of the created resource. */
  location?: string;
  /** Becomes part of the ETag. */
  version?: ResourceVersion;
  /** The body as GET returns it, if this one contains more. The ETag is that of the resource. */
  resource?: unknown;
  /** For operations that either create or update: false if they have updated. */
  isNew?: boolean;
  /** The resource that was created. A repeated request whose response is not stored gets its id. */
  created?: CreatedResource;
  /** The body contains a secret, which must not be stored. */
  containsSecret?: true;
  /** The result of an earlier request with the same Idempotency-Key. */
  replayed?: true;
  /** A key or session of the caller's user was deleted, so the cached credentials of this user are dropped. */
  revokesCredentials?: true;
  /** The session cookie to set; null clears it. */
  sessionToken?: string | null;
}

export type Handler<Operation extends AnyOperation, Db> = (
  input: Input<Operation>,
  context: HandlerContext<Db>,
) => Promise<HandlerResult<SuccessOf<Operation['responses']>>>;

/** One handler per operation of an API. A missing or unknown operation does not compile. */
export type Handlers<Operations, Db> = {
  [Id in keyof Operations]: Operations[Id] extends AnyOperation ? Handler<Operations[Id], Db> : never;
};

/** What a rule found in a body. */
export interface Checked<Body> {
  errors: ValidationError[];
  /** Fields in the form that the handler gets. */
  normalized?: Partial<Body>;
}

/**
 * Validation rules that a schema cannot express. They run in addition to the schema, so that the response lists every error
 * at once, and receive only the fields in which the schema found no error.
 */
export type Rules<Operations> = {
  [Id in keyof Operations]?: Operations[Id] extends AnyOperation ? Rule<NonNullable<BodyOf<Operations[Id]['requestBody']>>> : never;
};

/** `sent` has the names of all fields that were sent, also of those that are invalid. */
type Rule<Body> = (body: Partial<Body>, sent: ReadonlySet<string>) => Checked<Body>;
