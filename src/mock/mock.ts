import Koa from 'koa';
import type { Document } from 'openapi-backend';
import type { Logger } from 'pino';
import { type Credentials, selectCredential } from '../auth/authenticator.ts';
import type { Caller } from '../auth/caller.ts';
import { allScopes } from '../auth/scopes.ts';
import { UnknownPath } from '../errors.ts';
import { allowOrigins } from '../http/cors.ts';
import { assignRequestId, handleProblems } from '../http/middleware.ts';
import { createPipeline, type PipelineDeps } from '../http/pipeline.ts';
import { SessionCookie } from '../http/session-cookie.ts';
import { memoryLimiters } from '../limits/limiters.ts';
import { RateLimits } from '../limits/rate-limits.ts';
import { shiftTimesToNow } from './examples.ts';
import { prismHandlers } from './prism-responses.ts';

interface MockOptions {
  documents: object[];
  publicUrl: string;
  /** The validation rules of each document, in the same order. */
  rules: object[];
  log: Logger;
}

/** Both APIs with responses from the examples of the contract: the pipeline of the service, with Prism instead of our handlers. */
export async function createMock({ documents, publicUrl, rules, log }: MockOptions): Promise<Koa> {
  const deps: PipelineDeps = {
    authenticator: { authenticate: acceptAnyCredential },
    rateLimits: new RateLimits(requestsPerMinute, memoryLimiters()),
    sessionCookie: new SessionCookie(publicUrl),
    publicUrl,
    clientAddress: (ctx) => ctx.ip,
  };
  const app = new Koa();
  app.use(assignRequestId);
  app.use(allowOrigins(['*']));
  app.use(handleProblems(publicUrl, log));
  for (const [index, shifted] of shiftTimesToNow(documents, Date.now()).entries()) {
    const document = shifted as Document;
    const basePath = new URL(document.servers?.[0]?.url ?? '').pathname;
    app.use(await createPipeline({ basePath, document, rules: rules[index] ?? {} }, deps, await prismHandlers(document, publicUrl)));
  }
  app.use(() => {
    throw new UnknownPath();
  });
  return app;
}

/** High enough that no frontend test reaches the limit. */
const requestsPerMinute = 1_000_000;

async function acceptAnyCredential(credentials: Credentials, accepts: { acceptsKeys: boolean }): Promise<Caller> {
  const { key } = selectCredential(credentials, accepts);
  const credential = key === undefined ? { session: { id: 1, createdAtMs: 0, lastUsedAtMs: 0 } } : { key: { id: 1, expiresAtMs: null } };
  return { userId: 1, scopes: new Set(allScopes), ...credential };
}
