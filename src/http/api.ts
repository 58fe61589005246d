import type { Context, Middleware } from 'koa';
import type { Authenticator } from '../access/authenticator.ts';
import { type Caller, endedAccess, isAccessEnded } from '../access/caller.ts';
import { answerOnce } from '../access/repeats.ts';
import type { Database } from '../db/database.ts';
import { type Ask, askIn } from '../db/statement.ts';
import { admit, type Described, type Gate } from './admission.ts';
import type { Operation } from './contract.ts';
import { type AnyInput, idempotencyKeyOf } from './input.ts';
import type { HandlerContext, Reply } from './operations.ts';
import { isUnchanged, namedVersions, requireVersion } from './versions.ts';

export interface Api extends Described {
  /** Handlers<…> of the API's operations; here the types of all operations become one. */
  handlers: object;
}

export interface ApiParts extends Gate {
  database: Database;
  authenticator: Authenticator;
  /** Newest first; what is kept of requests is hashed with them. */
  secretKeys: Buffer[];
}

type AnyHandler = (input: AnyInput, context: HandlerContext) => Promise<Reply<unknown>>;

/** Serves one API as its contract says: what is admitted goes to the handler of its operation. */
export function serveApi(api: Api, parts: ApiParts): Promise<Middleware> {
  return admit(api, parts, (operation) => {
    const handler = handlerFor(operation, api.handlers);
    return async (input, caller, ctx) => {
      const reply = await run(handler, operation, input, caller, ctx, parts).catch((error: unknown) => {
        throw isAccessEnded(error) ? endedAccess(caller.key ? 'key' : 'session') : error;
      });
      // Other processes hear of it from the database; here it holds before the caller has the answer.
      if (reply.endsAccess) parts.authenticator.forgetUser(caller.userId);
      writeReply(ctx, operation, reply, parts);
    };
  });
}

function handlerFor(operation: Operation, handlers: object): AnyHandler {
  const handler = (handlers as Record<string, AnyHandler>)[operation.id];
  if (!handler) throw new Error(`The operation ${operation.id} has no handler.`);
  return handler;
}

/** Runs the handler; once only, where the caller sent an Idempotency-Key. */
function run(
  handler: AnyHandler,
  operation: Operation,
  input: AnyInput,
  caller: Caller,
  ctx: Context,
  parts: ApiParts,
): Promise<Reply<unknown>> {
  const { userId } = caller;
  const { database } = parts;
  const ifMatch = input.header['if-match'];
  const contextWith = (asUser: HandlerContext['asUser'], ask: Ask): HandlerContext => ({
    caller,
    address: parts.addressOf(ctx),
    versions: namedVersions(ifMatch),
    requireVersion: (version) => requireVersion(ifMatch, version),
    asUser,
    ask,
  });
  const key = idempotencyKeyOf(input);
  if (key === undefined)
    return handler(
      input,
      contextWith((work) => database.asUser(userId, work), database.ask(userId)),
    );
  const repeatable = { userId, operation: operation.id, key, content: JSON.stringify([input.path, input.body]) };
  return database.asUser(userId, (em) =>
    answerOnce(em, repeatable, parts.secretKeys, () =>
      handler(
        input,
        contextWith((work) => work(em), askIn(em)),
      ),
    ),
  );
}

function writeReply(ctx: Context, operation: Operation, reply: Reply<unknown>, { sessionCookie }: ApiParts) {
  ctx.res.setHeader('Cache-Control', 'private, no-cache');
  if (reply.sessionToken !== undefined) sessionCookie.write(ctx, reply.sessionToken);
  if (reply.location !== undefined) ctx.res.setHeader('Location', reply.location);
  if (reply.version !== undefined) {
    ctx.res.setHeader('ETag', `"${reply.version}"`);
    if (operation.method === 'GET' && isUnchanged(ctx.headers['if-none-match'], reply.version)) {
      ctx.status = 304;
      return;
    }
  }
  ctx.status = (reply.created === true ? operation.successes.at(-1) : operation.successes[0]) ?? 200;
  ctx.res.setHeader('Content-Type', 'application/json');
  ctx.body = JSON.stringify(reply.body);
}
