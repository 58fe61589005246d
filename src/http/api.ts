import type { Context, Middleware } from 'koa';
import type { Authenticator } from '../auth/authenticator.ts';
import { type Caller, isCallerDeleted, revokedCredential } from '../auth/caller.ts';
import type { Operation } from './contract.ts';
import { allowedVersions, etagOf, matchesETag, requireVersion } from './etags.ts';
import { type AnyInput, idempotencyKeyOf } from './input.ts';
import type { HandlerContext, HandlerResult } from './operations.ts';
import { type ApiDefinition, createPipeline, type PipelineDeps } from './pipeline.ts';

export interface Api extends ApiDefinition {
  /** Handlers<…> of the API's operations. Handlers are looked up by operation id, so their types are not needed here. */
  handlers: object;
}

/** The data access that an API needs. It is passed in, so that http/ does not depend on the database. */
export interface DataAccess<Db> {
  forUser(userId: number): Db;
  /** Runs `work`, unless the same request has succeeded before: then that result is returned. */
  runIdempotent(request: IdempotentRequest, work: (db: Db) => Promise<AnyResult>): Promise<AnyResult>;
}

export interface IdempotentRequest {
  userId: number;
  method: string;
  path: string;
  /** The Idempotency-Key. */
  key: string;
  /** Everything else in which two requests can differ. */
  content: string;
}

export interface ApiDeps<Db> extends PipelineDeps {
  data: DataAccess<Db>;
  authenticator: Authenticator;
}

type AnyResult = HandlerResult<unknown>;
type AnyHandler<Db> = (input: AnyInput, context: HandlerContext<Db>) => Promise<AnyResult>;

/** Serves one API: requests that pass the pipeline go to the handler named after their operation. */
export function serveApi<Db>(api: Api, deps: ApiDeps<Db>): Promise<Middleware> {
  return createPipeline(api, deps, (operation) => {
    const handler = handlerFor<Db>(operation, api.handlers);
    return async (input, caller, ctx) => {
      const result = await runHandler(handler, operation, input, caller, ctx, deps).catch((error: unknown) => {
        throw isCallerDeleted(error) ? revokedCredential(caller.key ? 'key' : 'session') : error;
      });
      // The database notifies other processes. This one drops the credentials before the client sees the response.
      if (result.revokesCredentials) deps.authenticator.forgetUser(caller.userId);
      writeResponse(ctx, operation, result, deps);
    };
  });
}

function handlerFor<Db>(operation: Operation, handlers: object): AnyHandler<Db> {
  const handler = (handlers as Record<string, AnyHandler<Db>>)[operation.id];
  if (!handler) throw new Error(`The operation ${operation.id} has no handler.`);
  return handler;
}

function runHandler<Db>(
  handler: AnyHandler<Db>,
  operation: Operation,
  input: AnyInput,
  caller: Caller,
  ctx: Context,
  { data, clientAddress }: ApiDeps<Db>,
): Promise<AnyResult> {
  const { userId } = caller;
  const ifMatch = input.header['if-match'];
  const run = (db: Db) =>
    handler(input, {
      caller,
      address: clientAddress(ctx),
      allowedVersions: (kind, id) => allowedVersions(ifMatch, kind, id),
      requireVersion: (version) => requireVersion(ifMatch, version),
      db,
    });
  const key = idempotencyKeyOf(input);
  if (key === undefined) return run(data.forUser(userId));
  return data.runIdempotent({ userId, method: operation.method, path: ctx.path, key, content: JSON.stringify(input.body) ?? '' }, run);
}

/** A proxy can serve the APIs below a path, which is part of PUBLIC_URL and which it removes from requests. */
function pathOf(publicUrl: string): string {
  return new URL(publicUrl).pathname.replace(/\/$/, '');
}

function writeResponse(ctx: Context, operation: Operation, result: AnyResult, { sessionCookie, publicUrl }: PipelineDeps) {
  const { version, location, sessionToken, replayed, containsSecret, isNew } = result;
  const body = JSON.stringify(result.body);
  ctx.res.setHeader('Cache-Control', containsSecret ? 'no-store' : 'private, no-cache');
  if (sessionToken !== undefined) sessionCookie.write(ctx, sessionToken);
  if (location !== undefined) ctx.res.setHeader('Location', pathOf(publicUrl) + location);
  if (replayed) ctx.res.setHeader('Idempotent-Replayed', 'true');
  if (version !== undefined || (operation.method === 'GET' && !operation.hasTokenInPath)) {
    const etag = etagOf(result.resource === undefined ? body : JSON.stringify(result.resource), version);
    ctx.res.setHeader('ETag', etag);
    if (operation.method === 'GET' && matchesETag(ctx.headers['if-none-match'], etag)) {
      ctx.status = 304;
      return;
    }
  }
  ctx.status = (isNew === false ? operation.successStatuses[0] : operation.successStatuses.at(-1)) ?? 200;
  ctx.res.setHeader('Content-Type', 'application/json');
  ctx.body = body;
}
