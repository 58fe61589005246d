import type { Context } from 'koa';
import { AlreadyCreated, Invalid, type ProblemCode, type Refusal, TryLater } from '../errors.ts';

/** The one table that turns meaning into a status. */
export const problems: Record<ProblemCode, { status: number; title: string }> = {
  malformed_request: { status: 400, title: 'The request is not HTTP' },
  malformed_json: { status: 400, title: 'The body is not JSON' },
  duplicate_key: { status: 400, title: 'A key stands twice in one object' },
  malformed_encoding: { status: 400, title: 'The encoding is broken' },
  unauthenticated: { status: 401, title: 'Who is calling?' },
  invalid_key: { status: 401, title: 'The API key does not work' },
  invalid_session: { status: 401, title: 'The session has ended' },
  invalid_credentials: { status: 401, title: 'Wrong e-mail address or password' },
  missing_scope: { status: 403, title: 'The key lacks a scope' },
  cross_origin: { status: 403, title: 'The request comes from another origin' },
  scope_not_held: { status: 403, title: 'The calling key does not hold that scope' },
  expiry_beyond_own: { status: 403, title: 'The new key would outlive the calling key' },
  not_your_key: { status: 403, title: 'The calling key may not delete that key' },
  signup_closed: { status: 403, title: 'Sign-up is closed' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'The path does not take this method' },
  not_acceptable: { status: 406, title: 'No such representation' },
  request_timeout: { status: 408, title: 'The request took too long to arrive' },
  domain_taken: { status: 409, title: 'You have this domain already' },
  quota_exceeded: { status: 409, title: 'The quota is used up' },
  email_taken: { status: 409, title: 'The e-mail address is taken' },
  already_created: { status: 409, title: 'The key was made already' },
  monitor_paused: { status: 409, title: 'The monitor is paused' },
  request_in_progress: { status: 409, title: 'The first request still runs' },
  precondition_failed: { status: 412, title: 'The item has changed' },
  body_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The media type is not supported' },
  validation_failed: { status: 422, title: 'The request breaks the contract' },
  idempotency_key_reused: { status: 422, title: 'The Idempotency-Key belongs to another request' },
  rate_limited: { status: 429, title: 'Too many requests' },
  headers_too_large: { status: 431, title: 'The headers are too large' },
  internal_error: { status: 500, title: 'Our fault' },
  delivery_failed: { status: 502, title: 'The message was not delivered' },
  delivery_not_configured: { status: 503, title: 'This way of delivery is not set up' },
  unavailable: { status: 503, title: 'Not available for the moment' },
};

export interface ProblemBody {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: ProblemCode;
  request_id: string;
  id?: number;
  errors?: Invalid['faults'];
}

const notInPath = /[^\w!$&'()*+,;=:@/.~%-]|%(?![\da-f]{2})/gi;

/** A path as RFC 3986 has it; clients send other characters all the same. */
export function instanceOf(path: string): string {
  return path.replace(notInPath, encodeURIComponent);
}

/** An RFC 9457 body. */
export function problemBody(refusal: Refusal, about: { publicUrl: string; instance: string; requestId: string }): ProblemBody {
  const { status, title } = problems[refusal.code];
  return {
    type: `${about.publicUrl}/docs/problems/${refusal.code}`,
    title,
    status,
    detail: refusal.message,
    instance: instanceOf(about.instance),
    code: refusal.code,
    request_id: about.requestId,
    ...(refusal instanceof AlreadyCreated && { id: refusal.id }),
    ...(refusal instanceof Invalid && { errors: refusal.faults }),
  };
}

export function writeProblem(ctx: Context, refusal: Refusal, publicUrl: string) {
  const body = problemBody(refusal, { publicUrl, instance: ctx.path, requestId: ctx.state.requestId });
  ctx.status = body.status;
  ctx.res.setHeader('Content-Type', 'application/problem+json');
  ctx.res.setHeader('Cache-Control', 'no-store');
  if (body.status === 401) ctx.res.setHeader('WWW-Authenticate', 'Bearer');
  if (refusal instanceof TryLater) ctx.res.setHeader('Retry-After', String(refusal.retryAfterSeconds));
  // What is left of a body that was not read to its end would be taken for the next request.
  if (refusal.code === 'body_too_large') ctx.res.setHeader('Connection', 'close');
  ctx.body = JSON.stringify(body);
}
