import type { Middleware } from 'koa';
import type { Logger } from 'pino';
import { ProblemError } from '../errors.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { inTrace, parseTraceparent, type Tracer } from '../telemetry/tracing.ts';
import { writeProblem } from './problems.ts';
import { requestIdOf } from './request-id.ts';

export const assignRequestId: Middleware = (ctx, next) => {
  ctx.state.requestId = requestIdOf(ctx.get('X-Request-Id'));
  ctx.res.setHeader('X-Request-Id', ctx.state.requestId);
  ctx.res.setHeader('X-Content-Type-Options', 'nosniff');
  return next();
};

/** Probes ask for these every few seconds, and their traces tell nothing. */
const untracedPaths = ['/healthz', '/readyz', '/metrics'];

/** Logs, counts and traces each request. Never logs bodies, query strings or headers, except the ids in X-Request-Id and traceparent. */
export function recordRequests(log: Logger, metrics: Pick<Metrics, 'requests' | 'problems'>, tracer?: Tracer): Middleware {
  return async (ctx, next) => {
    const start = performance.now();
    const parent = parseTraceparent(ctx.get('traceparent'));
    const span = untracedPaths.includes(ctx.path) ? undefined : tracer?.start(ctx.method, { kind: 'server', parent });
    const trace = span?.context ?? parent;
    await inTrace(trace && { context: trace, tracer: span && tracer }, next);
    const ms = performance.now() - start;
    const { requestId, operation, caller, problem } = ctx.state;
    metrics.requests.observe({ operation: operation ?? 'none', status: ctx.status }, ms / 1000);
    if (problem) metrics.problems.inc({ code: problem });
    if (span) {
      const { route } = ctx.state;
      span.end({
        name: route && `${ctx.method} ${route}`,
        attributes: {
          'http.request.method': ctx.method,
          'http.route': route,
          'http.response.status_code': ctx.status,
          'error.type': ctx.status >= 500 ? (problem ?? String(ctx.status)) : undefined,
          'sitekeeper.operation': operation,
          'sitekeeper.problem': problem,
          'sitekeeper.request_id': requestId,
        },
      });
    }
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

/** Turns every error into a problem+json response. An unexpected error is logged in full, and the client gets no details. */
export function handleProblems(publicUrl: string, log: Logger): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const problem = error instanceof ProblemError ? error : toInternalError(error);
      if (problem.cause !== undefined)
        log.error({ err: problem.cause, request_id: ctx.state.requestId, problem: problem.code }, 'Request failed');
      ctx.state.problem = problem.code;
      writeProblem(ctx, problem, publicUrl);
    }
  };
}

function toInternalError(cause: unknown): ProblemError {
  const detail = 'An unexpected error occurred. If it happens again, report the request_id to the operator.';
  return new ProblemError('internal_error', detail, { cause });
}
