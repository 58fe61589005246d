import type { Context, Middleware } from 'koa';
import type { Document } from 'openapi-backend';
import type { Authenticator } from '../access/authenticator.ts';
import { type Caller, nobody } from '../access/caller.ts';
import type { RateLimits, RateStanding } from '../access/rate-limits.ts';
import { answerOnce } from '../access/repeats.ts';
import type { Database } from '../db/database.ts';
import { NotFound, Refusal, TryLater } from '../errors.ts';
import { checkMediaType, readBody } from './body.ts';
import { Contract, type Operation } from './contract.ts';
import { type AnyInput, type AnyRules, idempotencyKeyOf, readInput } from './input.ts';
import type { HandlerContext, Reply } from './operations.ts';
import { requireSameOrigin } from './same-origin.ts';
import type { SessionCookie } from './session-cookie.ts';
import { isUnchanged, requireVersion } from './versions.ts';

export interface Api {
  /** The path that everything is under. */
  root: string;
  document: Document;
  /** Handlers<…> and Rules<…> of the API's operations; here the types of all operations become one. */
  handlers: object;
  rules?: object;
}

export interface ApiParts {
  database: Database;
  authenticator: Authenticator;
  rateLimits: RateLimits;
  sessionCookie: SessionCookie;
  /** Newest first; what is kept of requests is hashed with them. */
  secretKeys: Buffer[];
  publicUrl: string;
  /** The address a request comes from, proxies that are trusted looked through. */
  addressOf(ctx: Context): string;
}

type AnyHandler = (input: AnyInput, context: HandlerContext) => Promise<Reply<unknown>>;

/** Serves one API as its contract says. The order of the steps is the order of refusal. */
export async function serveApi({ root, document, handlers, rules = {} }: Api, parts: ApiParts): Promise<Middleware> {
  const contract = await Contract.load(document);
  const handlerOf = new Map(contract.operations.map((operation) => [operation, handlerFor(operation, handlers)]));
  const rulesOf = rules as Record<string, AnyRules>;

  return async (ctx, next) => {
    if (ctx.path !== root && !ctx.path.startsWith(`${root}/`)) return next();
    const match = contract.match(ctx.method, ctx.path.slice(root.length));
    if (!match) return refuseStranger(new NotFound(), ctx, parts); // 404
    if ('allow' in match) return answerOtherMethod(match.allow, ctx, parts); // 405
    const { operation, pathParameters } = match;
    const handler = handlerOf.get(operation);
    ctx.state.operation = operation.id;

    const caller = await identify(operation, ctx, parts); // 401, 429
    requireOwnOrigin(operation, caller, ctx, parts); // 403
    requireScopes(operation, caller); // 403
    requireAcceptable(ctx); // 406
    checkMediaType(ctx, operation); // 415
    const body = await readBody(ctx, operation); // 413, 400
    const input = readInput(ctx, operation, { pathParameters, body, rules: rulesOf[operation.id] }); // 422
    if (!handler) return;
    const reply = await run(handler, operation, input, caller, ctx, parts);
    // Other processes hear of it from the database; here it holds before the caller has the answer.
    if (reply.endsAccess) parts.authenticator.forgetUser(caller.userId);
    writeReply(ctx, operation, reply, parts);
  };
}

function handlerFor(operation: Operation, handlers: object): AnyHandler {
  const handler = (handlers as Record<string, AnyHandler>)[operation.id];
  if (!handler) throw new Error(`The operation ${operation.id} has no handler.`);
  return handler;
}

async function identify(operation: Operation, ctx: Context, parts: ApiParts): Promise<Caller> {
  if (operation.credentials.length === 0) {
    keepToRate(ctx, await parts.rateLimits.countAddress(parts.addressOf(ctx)));
    return nobody;
  }
  let caller: Caller;
  try {
    const credentials = { authorization: ctx.req.headersDistinct.authorization ?? [], sessionToken: parts.sessionCookie.read(ctx) };
    caller = await parts.authenticator.identify(credentials, { keys: operation.credentials.includes('bearerKey') });
  } catch (error) {
    return refuseStranger(error, ctx, parts);
  }
  ctx.state.caller = caller;
  keepToRate(ctx, await parts.rateLimits.countCaller(caller));
  return caller;
}

/**
 * A refusal before the caller is known counts against the address; one over its limit hears that instead. A fault of
 * ours does not count.
 */
async function refuseStranger(error: unknown, ctx: Context, parts: ApiParts): Promise<never> {
  const isOurFault = !(error instanceof Refusal) || error instanceof TryLater;
  const standing = await parts.rateLimits.countAddress(parts.addressOf(ctx), isOurFault ? 0 : 1);
  if (isOurFault) showRate(ctx, standing);
  else keepToRate(ctx, standing);
  throw error;
}

async function answerOtherMethod(allow: string[], ctx: Context, parts: ApiParts) {
  ctx.set('Allow', allow.join(', '));
  if (ctx.method !== 'OPTIONS') {
    return refuseStranger(new Refusal('method_not_allowed', `This path takes ${allow.join(', ')}, not ${ctx.method}.`), ctx, parts);
  }
  keepToRate(ctx, await parts.rateLimits.countAddress(parts.addressOf(ctx)));
  ctx.status = 204;
}

function keepToRate(ctx: Context, standing: RateStanding) {
  showRate(ctx, standing);
  if (standing.allowed) return;
  const { name, limit, resetSeconds } = standing.closest;
  throw new TryLater(
    'rate_limited',
    `${limit} requests a minute are allowed for this ${name}. Try again in ${resetSeconds} seconds.`,
    resetSeconds,
  );
}

function showRate(ctx: Context, { policies, closest }: RateStanding) {
  ctx.set('RateLimit-Policy', policies.map(({ name, limit, windowSeconds }) => `"${name}";q=${limit};w=${windowSeconds}`).join(', '));
  ctx.set('RateLimit', `"${closest.name}";r=${closest.remaining};t=${closest.resetSeconds}`);
  ctx.set('X-RateLimit-Limit', String(closest.limit));
  ctx.set('X-RateLimit-Remaining', String(closest.remaining));
  ctx.set('X-RateLimit-Reset', String(closest.resetSeconds));
}

/** Asked of whoever comes with a session, and of those who come for one. */
function requireOwnOrigin(operation: Operation, caller: Caller, ctx: Context, { publicUrl }: ApiParts) {
  if (operation.method !== 'GET' && !caller.key) requireSameOrigin(ctx, publicUrl);
}

function requireScopes(operation: Operation, caller: Caller) {
  const missing = operation.scopes.filter((scope) => !caller.scopes.has(scope));
  if (missing.length > 0) {
    throw new Refusal(
      'missing_scope',
      `This operation needs the scope ${missing.map((scope) => `"${scope}"`).join(', ')}, which the key does not hold.`,
    );
  }
}

function requireAcceptable(ctx: Context) {
  if (!ctx.accepts('application/json')) {
    throw new Refusal('not_acceptable', 'This operation answers application/json, which the Accept header rules out.');
  }
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
  const context = {
    caller,
    address: parts.addressOf(ctx),
    requireVersion: (version: string) => requireVersion(input.header['if-match'], version),
  };
  const key = idempotencyKeyOf(input);
  if (key === undefined) return handler(input, { ...context, asUser: (work) => parts.database.asUser(userId, work) });
  const repeatable = { userId, operation: operation.id, key, content: JSON.stringify([input.path, input.body]) };
  return parts.database.asUser(userId, (em) =>
    answerOnce(em, repeatable, parts.secretKeys, () => handler(input, { ...context, asUser: (work) => work(em) })),
  );
}

function writeReply(ctx: Context, operation: Operation, reply: Reply<unknown>, { sessionCookie }: ApiParts) {
  ctx.set('Cache-Control', 'private, no-cache');
  if (reply.sessionToken !== undefined) sessionCookie.write(ctx, reply.sessionToken);
  if (reply.location !== undefined) ctx.set('Location', reply.location);
  if (reply.version !== undefined) {
    ctx.set('ETag', `"${reply.version}"`);
    if (operation.method === 'GET' && isUnchanged(ctx.headers['if-none-match'], reply.version)) {
      ctx.status = 304;
      return;
    }
  }
  ctx.status = (reply.created === true ? operation.successes.at(-1) : operation.successes[0]) ?? 200;
  ctx.set('Content-Type', 'application/json');
  ctx.body = JSON.stringify(reply.body);
}
