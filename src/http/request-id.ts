import { randomUUID } from 'node:crypto';
import { redactCredentials } from '../telemetry/redact.ts';

const wellFormed = /^[A-Za-z0-9._-]{1,128}$/;

/** Returns the client's own id if it is well-formed and contains no credential, otherwise a new one: the log shows it in full. */
export function requestIdOf(given: string): string {
  return wellFormed.test(given) && redactCredentials(given) === given ? given : newRequestId();
}

export function newRequestId(): string {
  return randomUUID();
}
