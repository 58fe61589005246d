import type { Context, Middleware } from 'koa';
import type { Document } from 'openapi-backend';
import type { Authenticator } from '../auth/authenticator.ts';
import { anonymous, type Caller } from '../auth/caller.ts';
import { ProblemError, RetryLaterError, UnknownPath } from '../errors.ts';
import type { RateLimitStatus, RateLimits } from '../limits/rate-limits.ts';
import { readBody, requireMediaType } from './body.ts';
import { Contract, type Operation } from './contract.ts';
import { type AnyInput, type AnyRules, readInput } from './input.ts';
import { isSameOrigin } from './same-origin.ts';
import type { SessionCookie } from './session-cookie.ts';

export interface ApiDefinition {
  /** The path prefix of every operation. */
  basePath: string;
  document: Document;
  /** Rules<…> of the API's operations. Rules are looked up by operation id, so their types are not needed here. */
  rules?: object;
}

export interface PipelineDeps {
  authenticator: Pick<Authenticator, 'authenticate'>;
  rateLimits: RateLimits;
  sessionCookie: SessionCookie;
  publicUrl: string;
  /** Returns the client's address, as reported by trusted proxies. */
  clientAddress(ctx: Context): string;
}

/** Handles a request that passed every check. */
export type OperationHandler = (input: AnyInput, caller: Caller, ctx: Context) => Promise<void>;

/**
 * The path of every request, for the service and the mock alike: route, authenticate, limit the rate, authorize, read,
 * validate, handle. The order of the steps is part of the contract: it determines
 * which error a client sees first.
 */
export async function createPipeline(
  { basePath, document, rules = {} }: ApiDefinition,
  deps: PipelineDeps,
  createHandler: (operation: Operation) => OperationHandler,
): Promise<Middleware> {
  const contract = await Contract.load(document, basePath);
  const handlers = new Map(contract.operations.map((operation) => [operation, createHandler(operation)]));
  const rulesByOperation = rules as Record<string, AnyRules>;

  return async (ctx, next) => {
    if (ctx.path !== basePath && !ctx.path.startsWith(`${basePath}/`)) return next();
    ctx.res.setHeader('Vary', 'Authorization, Cookie, Origin'); // Without it, a cache could give one user's response to another.
    const match = contract.match(ctx.method, ctx.path.slice(basePath.length));
    if (!match) return rejectAnonymous(new UnknownPath(), ctx, deps); // 404
    if ('allow' in match) return handleUndeclaredMethod(match.allow, ctx, deps); // 405
    const { operation, pathParameters } = match;
    ctx.state.operation = operation.id;
    ctx.state.route = operation.route;

    const token = operation.hasTokenInPath ? pathParameters.token : undefined;
    const caller = token === undefined ? await authenticate(operation, ctx, deps) : anonymous; // 401, 429
    const handle = async () => {
      requireSameOrigin(operation, caller, ctx, deps); // 403
      requireScopes(operation, caller); // 403
      requireAcceptable(ctx, operation); // 406
      requireMediaType(ctx, operation); // 415
      const body = await readBody(ctx, operation); // 413, 400
      const input = readInput(ctx, operation, { pathParameters, body, rules: rulesByOperation[operation.id] }); // 422
      if (token !== undefined) enforceRateLimit(ctx, await deps.rateLimits.countToken(token)); // 429
      await handlers.get(operation)?.(input, caller, ctx);
    };
    await (token === undefined ? handle() : handle().catch((error: unknown) => rejectToken(error, token, ctx, deps)));
  };
}

async function authenticate(operation: Operation, ctx: Context, deps: PipelineDeps): Promise<Caller> {
  if (operation.credentials.length === 0) {
    enforceRateLimit(ctx, await deps.rateLimits.countAddress(deps.clientAddress(ctx)));
    return anonymous;
  }
  let caller: Caller;
  // Each lookup of an unknown credential costs a query, so an address has a limited number of them. Valid ones do not count.
  let lookedUp = false;
  const beforeLookup = async () => {
    lookedUp = true;
    await deps.rateLimits.countLookup(deps.clientAddress(ctx));
  };
  try {
    const credentials = { authorization: authorizationHeaders(ctx), sessionToken: deps.sessionCookie.read(ctx) };
    const acceptsKeys = operation.credentials.includes('bearerKey');
    caller = await deps.authenticator.authenticate(credentials, { acceptsKeys, beforeLookup });
  } catch (error) {
    if (lookedUp && !isClientError(error)) await deps.rateLimits.refundLookup(deps.clientAddress(ctx));
    return rejectAnonymous(error, ctx, deps);
  }
  if (lookedUp) await deps.rateLimits.refundLookup(deps.clientAddress(ctx));
  ctx.state.caller = caller;
  enforceRateLimit(ctx, await deps.rateLimits.countCaller(caller));
  return caller;
}

/**
 * Rejects a request whose credential is the token in its path. Only requests with unknown tokens, and those that are invalid, count
 * toward the limit of an address. Unknown tokens have no counter of their own, because there can be any number of them.
 */
async function rejectToken(error: unknown, token: string, ctx: Context, deps: PipelineDeps): Promise<never> {
  if (!isClientError(error)) throw error;
  if (error.code === 'not_found') await deps.rateLimits.forgetToken(token);
  return rejectAnonymous(error, ctx, deps);
}

/** Returns every Authorization header: `headers` contains only the first, and a second one must not pass unnoticed. */
function authorizationHeaders({ req: { headers, rawHeaders } }: Context): string[] {
  if (headers.authorization === undefined) return [];
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'authorization');
}

/**
 * Rejects a request whose caller is not known. It counts toward the limit of the address, and a client over that limit gets
 * 429 instead. Errors of the service itself do not count.
 */
async function rejectAnonymous(error: unknown, ctx: Context, deps: PipelineDeps): Promise<never> {
  const status = await deps.rateLimits.countAddress(deps.clientAddress(ctx), isClientError(error) ? 1 : 0);
  if (isClientError(error)) enforceRateLimit(ctx, status);
  else setRateLimitHeaders(ctx, status);
  throw error;
}

function isClientError(error: unknown): error is ProblemError {
  return error instanceof ProblemError && !(error instanceof RetryLaterError);
}

async function handleUndeclaredMethod(allow: string[], ctx: Context, deps: PipelineDeps) {
  ctx.set('Allow', allow.join(', '));
  if (ctx.method !== 'OPTIONS') {
    const error = new ProblemError('method_not_allowed', `This path does not support ${ctx.method}. It supports ${allow.join(', ')}.`);
    return rejectAnonymous(error, ctx, deps);
  }
  enforceRateLimit(ctx, await deps.rateLimits.countAddress(deps.clientAddress(ctx)));
  ctx.status = 204;
}

function enforceRateLimit(ctx: Context, status: RateLimitStatus) {
  setRateLimitHeaders(ctx, status);
  const { name, limit, isExceeded, resetSeconds } = status.tightest;
  if (!isExceeded) return;
  throw new RetryLaterError(
    'rate_limited',
    `The limit for this ${name} is ${limit} ${limit === 1 ? 'request' : 'requests'} per minute. Retry in ${resetSeconds} ${resetSeconds === 1 ? 'second' : 'seconds'}.`,
    resetSeconds,
  );
}

function setRateLimitHeaders({ res }: Context, { policy, tightest: { name, limit, remaining, resetSeconds } }: RateLimitStatus) {
  res.setHeader('RateLimit-Policy', policy);
  res.setHeader('RateLimit', `"${name}";r=${remaining};t=${resetSeconds}`);
  res.setHeader('X-RateLimit-Limit', `${limit}`);
  res.setHeader('X-RateLimit-Remaining', `${remaining}`);
  res.setHeader('X-RateLimit-Reset', `${resetSeconds}`);
}

/** Prevents CSRF. It applies to sessions, and to requests that open one; a request with a key or token cannot be forged by another site. */
function requireSameOrigin(operation: Operation, caller: Caller, ctx: Context, { publicUrl }: PipelineDeps) {
  if (operation.method === 'GET' || operation.hasTokenInPath || caller.key || isSameOrigin(ctx, publicUrl)) return;
  throw new ProblemError(
    'cross_origin',
    'The request was sent by a page of another origin. Use an API key, or send the request from a page of this service.',
  );
}

function requireScopes(operation: Operation, caller: Caller) {
  const missing = operation.scopes.filter((scope) => !caller.scopes.has(scope));
  if (missing.length === 0) return;
  const list = missing.map((scope) => `"${scope}"`).join(', ');
  throw new ProblemError('missing_scope', `This operation requires the scope ${list}. Use an API key that has it.`);
}

function requireAcceptable(ctx: Context, { checksAccept }: Operation) {
  const { accept = '*/*' } = ctx.headers;
  if (checksAccept && accept !== '*/*' && !ctx.accepts('application/json', 'application/json;charset=utf-8')) {
    throw new ProblemError('not_acceptable', 'This operation returns application/json, which the Accept header excludes.');
  }
}
