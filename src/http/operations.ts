// Types that tie a handler to its operation in the contract.
import type { Caller } from '../access/caller.ts';
import type { Work } from '../db/database.ts';
import type { Ask } from '../db/statement.ts';
import type { Fault } from '../errors.ts';

interface AnyOperation {
  parameters: { path?: unknown; query?: unknown; header?: unknown };
  requestBody?: unknown;
  responses: object;
}

/** What is not declared, or not sent, is an empty object. */
type Given<T> = [NonNullable<T>] extends [never] ? Record<never, never> : NonNullable<T>;
type BodyOf<RequestBody> = RequestBody extends { content: infer Content } ? Content[keyof Content] : undefined;
type SuccessOf<Responses> = { [Status in keyof Responses & (200 | 201 | 202)]: BodyOf<Responses[Status]> }[keyof Responses &
  (200 | 201 | 202)];

/** What the request says, already held against the contract: the right types, defaults filled in. */
export interface Input<Operation extends AnyOperation> {
  path: Given<Operation['parameters']['path']>;
  query: Given<Operation['parameters']['query']>;
  body: BodyOf<Operation['requestBody']>;
  /** The path and query as they were sent, for links to other pages. */
  url: { path: string; query: string };
}

export interface HandlerContext {
  caller: Caller;
  /** The address the request comes from. */
  address: string;
  /** One transaction in which only the caller's rows exist. */
  asUser<T>(work: Work<T>): Promise<T>;
  /** Statements in one round trip, in a transaction in which only the caller's rows exist. */
  ask: Ask;
  /** Refuses unless the item's version is one that the caller's If-Match names. To be asked in the transaction that writes. */
  requireVersion(version: string): void;
  /** The versions that If-Match names, for a write that holds only for them; undefined where any will do. */
  versions: number[] | undefined;
}

export interface Reply<Body> {
  body: Body;
  /** Where the new item can be read. */
  location?: string;
  /** The version of the item; becomes its ETag. */
  version?: string;
  /** For operations that either create or change: which of the two it was. */
  created?: boolean;
  /** For an answer that holds a secret: the id that a repeated request is told instead. */
  createdId?: number;
  /** A key or session of the caller's user ended: what is remembered of them is asked for anew. */
  endsAccess?: true;
  /** The session cookie to set; null clears it. */
  sessionToken?: string | null;
}

export type Handler<Operation extends AnyOperation> = (
  input: Input<Operation>,
  context: HandlerContext,
) => Promise<Reply<SuccessOf<Operation['responses']>>>;

/** One handler for each operation of an API: one that is missing or surplus does not compile. */
export type Handlers<Operations> = {
  [Id in keyof Operations]: Operations[Id] extends AnyOperation ? Handler<Operations[Id]> : never;
};

/**
 * Rules that no schema can say, checked beside it so that every fault is named at once. They see the body's fields that
 * the schema found nothing wrong with.
 */
export type Rules<Operations> = {
  [Id in keyof Operations]?: Operations[Id] extends AnyOperation
    ? (body: Partial<NonNullable<BodyOf<Operations[Id]['requestBody']>>>) => Fault[]
    : never;
};
