import type { Context, Middleware } from 'koa';
import type { Document } from 'openapi-backend';
import type { Authenticator } from '../access/authenticator.ts';
import { type Caller, nobody } from '../access/caller.ts';
import type { RateLimits, RateStanding } from '../access/rate-limits.ts';
import { NotFound, Refusal, TryLater } from '../errors.ts';
import { checkMediaType, readBody } from './body.ts';
import { Contract, type Operation } from './contract.ts';
import { type AnyInput, type AnyRules, readInput } from './input.ts';
import { requireSameOrigin } from './same-origin.ts';
import type { SessionCookie } from './session-cookie.ts';

export interface Described {
  /** The path that everything is under. */
  root: string;
  document: Document;
  /** Rules<…> of the API's operations; here the types of all operations become one. */
  rules?: object;
}

export interface Gate {
  authenticator: Pick<Authenticator, 'identify'>;
  rateLimits: RateLimits;
  sessionCookie: SessionCookie;
  publicUrl: string;
  /** The address a request comes from, proxies that are trusted looked through. */
  addressOf(ctx: Context): string;
}

/** Answers a request that nothing speaks against. */
export type Answerer = (input: AnyInput, caller: Caller, ctx: Context) => Promise<void>;

/** Lets in what the contract allows; the service and the mock share it. The order of the steps is the order of refusal. */
export async function admit(
  { root, document, rules = {} }: Described,
  gate: Gate,
  answererFor: (operation: Operation) => Answerer,
): Promise<Middleware> {
  const contract = await Contract.load(document);
  const answererOf = new Map(contract.operations.map((operation) => [operation, answererFor(operation)]));
  const rulesOf = rules as Record<string, AnyRules>;

  return async (ctx, next) => {
    if (ctx.path !== root && !ctx.path.startsWith(`${root}/`)) return next();
    const match = contract.match(ctx.method, ctx.path.slice(root.length));
    if (!match) return refuseStranger(new NotFound(), ctx, gate); // 404
    if ('allow' in match) return answerOtherMethod(match.allow, ctx, gate); // 405
    const { operation, pathParameters } = match;
    ctx.state.operation = operation.id;

    const caller = await identify(operation, ctx, gate); // 401, 429
    requireOwnOrigin(operation, caller, ctx, gate); // 403
    requireScopes(operation, caller); // 403
    requireAcceptable(ctx); // 406
    checkMediaType(ctx, operation); // 415
    const body = await readBody(ctx, operation); // 413, 400
    const input = readInput(ctx, operation, { pathParameters, body, rules: rulesOf[operation.id] }); // 422
    await answererOf.get(operation)?.(input, caller, ctx);
  };
}

async function identify(operation: Operation, ctx: Context, gate: Gate): Promise<Caller> {
  if (operation.credentials.length === 0) {
    keepToRate(ctx, await gate.rateLimits.countAddress(gate.addressOf(ctx)));
    return nobody;
  }
  let caller: Caller;
  try {
    const credentials = { authorization: authorizationsOf(ctx), sessionToken: gate.sessionCookie.read(ctx) };
    caller = await gate.authenticator.identify(credentials, { keys: operation.credentials.includes('bearerKey') });
  } catch (error) {
    return refuseStranger(error, ctx, gate);
  }
  ctx.state.caller = caller;
  keepToRate(ctx, await gate.rateLimits.countCaller(caller));
  return caller;
}

/** Each as it was sent: Node itself keeps only the first. */
function authorizationsOf({ req: { headers, rawHeaders } }: Context): string[] {
  if (headers.authorization === undefined) return [];
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'authorization');
}

/**
 * A refusal before the caller is known counts against the address; one over its limit hears that instead. A fault of
 * ours does not count.
 */
async function refuseStranger(error: unknown, ctx: Context, gate: Gate): Promise<never> {
  const isOurFault = !(error instanceof Refusal) || error instanceof TryLater;
  const standing = await gate.rateLimits.countAddress(gate.addressOf(ctx), isOurFault ? 0 : 1);
  if (isOurFault) showRate(ctx, standing);
  else keepToRate(ctx, standing);
  throw error;
}

async function answerOtherMethod(allow: string[], ctx: Context, gate: Gate) {
  ctx.set('Allow', allow.join(', '));
  if (ctx.method !== 'OPTIONS') {
    return refuseStranger(new Refusal('method_not_allowed', `This path takes ${allow.join(', ')}, not ${ctx.method}.`), ctx, gate);
  }
  keepToRate(ctx, await gate.rateLimits.countAddress(gate.addressOf(ctx)));
  ctx.status = 204;
}

function keepToRate(ctx: Context, standing: RateStanding) {
  showRate(ctx, standing);
  const { name, limit, isOver, resetSeconds } = standing.closest;
  if (!isOver) return;
  throw new TryLater(
    'rate_limited',
    `${limit} requests a minute are allowed for this ${name}. Try again in ${resetSeconds} seconds.`,
    resetSeconds,
  );
}

function showRate({ res }: Context, { policy, closest: { name, limit, remaining, resetSeconds } }: RateStanding) {
  res.setHeader('RateLimit-Policy', policy);
  res.setHeader('RateLimit', `"${name}";r=${remaining};t=${resetSeconds}`);
  res.setHeader('X-RateLimit-Limit', `${limit}`);
  res.setHeader('X-RateLimit-Remaining', `${remaining}`);
  res.setHeader('X-RateLimit-Reset', `${resetSeconds}`);
}

/** Asked of whoever comes with a session, and of those who come for one. */
function requireOwnOrigin(operation: Operation, caller: Caller, ctx: Context, { publicUrl }: Gate) {
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
  const { accept = '*/*' } = ctx.headers;
  if (accept !== '*/*' && !ctx.accepts('application/json', 'application/json;charset=utf-8')) {
    throw new Refusal('not_acceptable', 'This operation answers application/json, which the Accept header rules out.');
  }
}
