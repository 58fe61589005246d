import type { Middleware } from 'koa';
import type { Logger } from 'pino';
import { Refusal } from '../errors.ts';
import type { Metrics } from '../metrics.ts';
import { inTrace, readTraceparent, type Tracer } from '../trace.ts';
import { writeProblem } from './problems.ts';
import { requestIdOf } from './request-id.ts';

export const nameRequests: Middleware = (ctx, next) => {
  ctx.state.requestId = requestIdOf(ctx.get('X-Request-Id'));
  ctx.res.setHeader('X-Request-Id', ctx.state.requestId);
  return next();
};

/** One line a request, and a count: who asked for what, how it ended and how long it took. Never a body, a query or a header. */
export function watchRequests(log: Logger, metrics: Pick<Metrics, 'requests' | 'refusals'>, tracer?: Tracer): Middleware {
  return async (ctx, next) => {
    const start = performance.now();
    const parent = readTraceparent(ctx.get('traceparent'));
    const span = tracer?.start(ctx.method, { kind: 'server', parent });
    const trace = span?.context ?? parent;
    await inTrace(trace, next);
    const ms = performance.now() - start;
    const { requestId, operation, caller, problem } = ctx.state;
    metrics.requests.observe({ operation: operation ?? 'none', status: ctx.status }, ms / 1000);
    if (problem) metrics.refusals.inc({ code: problem });
    span?.end({
      name: operation,
      failed: ctx.status >= 500,
      attributes: {
        'http.request.method': ctx.method,
        'http.response.status_code': ctx.status,
        'error.type': problem,
        request_id: requestId,
      },
    });
    log.info(
      {
        request_id: requestId,
        trace_id: trace?.traceId,
        method: ctx.method,
        path: ctx.path,
        operation,
        status: ctx.status,
        problem,
        ms: Math.round(ms * 10) / 10,
        user_id: caller?.userId,
        key_id: caller?.key?.id,
        session_id: caller?.session?.id,
      },
      'request',
    );
  };
}

/** Turns whatever is thrown into a problem. What is no refusal is a fault of ours: logged whole, answered without detail. */
export function answerProblems(publicUrl: string, log: Logger): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const refusal =
        error instanceof Refusal
          ? error
          : new Refusal('internal_error', 'Something went wrong on our side. The request_id leads us to it.', { cause: error });
      if (refusal.cause !== undefined) log.error({ err: refusal.cause, request_id: ctx.state.requestId }, refusal.code);
      ctx.state.problem = refusal.code;
      writeProblem(ctx, refusal, publicUrl);
    }
  };
}
