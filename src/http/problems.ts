import type { Context } from 'koa';
import { AlreadyCreated, InvalidRequest, type ProblemCode, type ProblemError, RetryLaterError } from '../errors.ts';
import { redactCredentials } from '../telemetry/redact.ts';

/** The only place that maps a problem code to its status and title. */
export const problems: Record<ProblemCode, { status: number; title: string }> = {
  malformed_request: { status: 400, title: 'Malformed request' },
  malformed_json: { status: 400, title: 'Malformed JSON' },
  duplicate_key: { status: 400, title: 'Duplicate key in a JSON object' },
  malformed_encoding: { status: 400, title: 'Malformed encoding' },
  unauthenticated: { status: 401, title: 'Authentication required' },
  invalid_key: { status: 401, title: 'Invalid API key' },
  invalid_session: { status: 401, title: 'Invalid session' },
  invalid_credentials: { status: 401, title: 'Wrong e-mail address or password' },
  missing_scope: { status: 403, title: 'Missing scope' },
  cross_origin: { status: 403, title: 'Cross-origin request rejected' },
  scope_not_held: { status: 403, title: 'Scope not held by the calling key' },
  expiry_beyond_own: { status: 403, title: 'Expiry later than that of the calling key' },
  not_your_key: { status: 403, title: 'Key not created by the calling key' },
  signup_closed: { status: 403, title: 'Sign-up is closed' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  not_acceptable: { status: 406, title: 'Not acceptable' },
  request_timeout: { status: 408, title: 'Request timeout' },
  domain_taken: { status: 409, title: 'Domain already registered' },
  quota_exceeded: { status: 409, title: 'Quota exceeded' },
  email_taken: { status: 409, title: 'E-mail address already in use' },
  already_created: { status: 409, title: 'Already created' },
  monitor_paused: { status: 409, title: 'Monitor is paused' },
  nothing_to_check: { status: 409, title: 'Nothing to check' },
  no_signing_secret: { status: 409, title: 'No signing secret' },
  incident_resolved: { status: 409, title: 'Incident is resolved' },
  recipient_unconfirmed: { status: 409, title: 'Recipient has not confirmed' },
  request_in_progress: { status: 409, title: 'Request in progress' },
  precondition_failed: { status: 412, title: 'Precondition failed' },
  body_too_large: { status: 413, title: 'Request body too large' },
  unsupported_media_type: { status: 415, title: 'Unsupported media type' },
  validation_failed: { status: 422, title: 'Validation failed' },
  idempotency_key_reused: { status: 422, title: 'Idempotency-Key already used' },
  rate_limited: { status: 429, title: 'Too many requests' },
  headers_too_large: { status: 431, title: 'Request headers too large' },
  internal_error: { status: 500, title: 'Internal server error' },
  delivery_failed: { status: 502, title: 'Delivery failed' },
  delivery_not_configured: { status: 503, title: 'Delivery not configured' },
  unavailable: { status: 503, title: 'Service unavailable' },
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
  errors?: InvalidRequest['errors'];
}

const notInPath = /[^\w!$&'()*+,;=:@/.~%-]|%(?![\da-f]{2})/gi;

const maxPathLength = 2048;

/** Encodes the characters that RFC 3986 does not allow in a path, and cuts a long path. The result is a valid URI reference. */
export function encodePath(path: string): string {
  return path
    .slice(0, maxPathLength)
    .toWellFormed()
    .replace(notInPath, encodeURIComponent)
    .slice(0, maxPathLength)
    .replace(/%[\da-f]?$/i, '');
}

/** Builds the body of RFC 9457. */
export function problemBody(problem: ProblemError, about: { publicUrl: string; instance: string; requestId: string }): ProblemBody {
  const { status, title } = problems[problem.code];
  return {
    type: `${about.publicUrl}/docs/problems/${problem.code}`,
    title,
    status,
    detail: problem.message,
    instance: encodePath(about.instance),
    code: problem.code,
    request_id: about.requestId,
    ...(problem instanceof AlreadyCreated && { id: problem.id }),
    ...(problem instanceof InvalidRequest && { errors: problem.errors }),
  };
}

/** Serializes a problem. What it repeats of the request, such as the path, can contain an API key. */
export function serializeProblem(body: ProblemBody): string {
  return redactCredentials(JSON.stringify(body));
}

export function writeProblem(ctx: Context, problem: ProblemError, publicUrl: string) {
  const body = problemBody(problem, { publicUrl, instance: ctx.path, requestId: ctx.state.requestId });
  ctx.status = body.status;
  ctx.res.setHeader('Content-Type', 'application/problem+json');
  ctx.res.setHeader('Cache-Control', 'no-store');
  if (body.status === 401) ctx.res.setHeader('WWW-Authenticate', 'Bearer');
  if (problem instanceof RetryLaterError) ctx.res.setHeader('Retry-After', String(problem.retryAfterSeconds));
  // The rest of the body is not read, and would be parsed as the next request on this connection.
  if (problem.code === 'body_too_large') ctx.res.setHeader('Connection', 'close');
  ctx.body = serializeProblem(body);
}
