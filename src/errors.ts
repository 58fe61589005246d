// What can go wrong, by meaning. Which HTTP status a code gets stands in http/problems.ts.

export type ProblemCode =
  | 'malformed_json'
  | 'duplicate_key'
  | 'malformed_encoding'
  | 'malformed_request'
  | 'unauthenticated'
  | 'invalid_key'
  | 'invalid_session'
  | 'invalid_credentials'
  | 'missing_scope'
  | 'cross_origin'
  | 'scope_not_held'
  | 'expiry_beyond_own'
  | 'not_your_key'
  | 'signup_closed'
  | 'not_found'
  | 'method_not_allowed'
  | 'not_acceptable'
  | 'request_timeout'
  | 'domain_taken'
  | 'quota_exceeded'
  | 'email_taken'
  | 'already_created'
  | 'monitor_paused'
  | 'request_in_progress'
  | 'precondition_failed'
  | 'body_too_large'
  | 'unsupported_media_type'
  | 'validation_failed'
  | 'idempotency_key_reused'
  | 'rate_limited'
  | 'headers_too_large'
  | 'internal_error'
  | 'delivery_failed'
  | 'delivery_not_configured'
  | 'unavailable';

/** One thing that is wrong with a request; `errors` of a 422. */
export interface Fault {
  in: 'body' | 'query' | 'path' | 'header';
  pointer?: string;
  name?: string;
  code: string;
  message: string;
  line?: number;
}

/** A request that is not carried out. The message is shown to the caller, so it holds no secret and no inner detail. */
export class Refusal extends Error {
  readonly code: ProblemCode;

  constructor(code: ProblemCode, detail: string, options?: ErrorOptions) {
    // Where it was thrown tells nobody anything, and finding that out takes longer than the rest of the refusal.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(detail, options);
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
  }
}

export class NotFound extends Refusal {
  constructor() {
    super('not_found', 'There is no such item.');
  }
}

/** The request was read, and breaks the contract. */
export class Invalid extends Refusal {
  readonly faults: Fault[];

  constructor(faults: Fault[], code: 'validation_failed' | 'idempotency_key_reused' = 'validation_failed') {
    super(code, describe(faults));
    this.faults = faults.slice(0, maxFaults);
  }
}

/** The first request made it, and what it answered cannot be said again. */
export class AlreadyCreated extends Refusal {
  readonly id: number;

  constructor(id: number) {
    super(
      'already_created',
      `A request with the same Idempotency-Key made the key with the id ${id}, which cannot be shown again. If you do not have it, delete it and create another.`,
    );
    this.id = id;
  }
}

/** A refusal that passes by itself. */
export class TryLater extends Refusal {
  readonly retryAfterSeconds: number;

  constructor(code: 'rate_limited' | 'unavailable', detail: string, retryAfterSeconds: number, options?: ErrorOptions) {
    super(code, detail, options);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** As many as the contract lets a problem list. */
const maxFaults = 10_000;
const faultsInDetail = 5;

function describe(faults: Fault[]): string {
  const named = faults.slice(0, faultsInDetail).map((fault) => {
    const place = fault.in === 'body' ? fault.pointer || 'the body' : `the ${fault.in} parameter "${fault.name}"`;
    return `${place}${fault.line ? `, line ${fault.line},` : ''} ${fault.message}`;
  });
  const more = faults.length > named.length ? `; and ${faults.length - named.length} more` : '';
  return `The request has ${faults.length === 1 ? '1 fault' : `${faults.length} faults`}: ${named.join('; ')}${more}.`;
}
