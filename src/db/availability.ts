import { DatabaseOutage, RetryLaterError } from '../errors.ts';

/** Is told of every attempt to use the database, and logs when it goes away and when it is back. */
export interface AvailabilityObserver {
  failed(reason: string): void;
  succeeded(): void;
}

// SQLSTATE classes 40 (deadlock), 53 (disk full, out of memory) and 57 (statement timeout), and 25P03 (idle transaction timeout).
const temporaryCodes = /^(25P03|40...|53...|57...)$/;
// SQLSTATE class 08 (connection), 25006 (a write on a standby), 53300 (too many connections), 57P0x (shutdown, crash, starting up),
// and the error codes of sockets.
const outageCodes =
  /^(08...|25006|53300|57P0[1-3]|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|ENOENT|EHOSTUNREACH|ENETUNREACH)$/;
const outageMessages = /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error/;

/** Converts an error that is temporary and not the client's mistake, so that the client is asked to retry. Others stay as they are. */
export function convertTemporaryError(error: unknown, availability?: AvailabilityObserver): unknown {
  if (isOutage(error)) {
    availability?.failed(reasonOf(error));
    return unavailable();
  }
  if (!hasCode(error, temporaryCodes)) return error;
  return new RetryLaterError('unavailable', unavailableDetail, 2, { cause: error });
}

/** Whether the transaction was rolled back because of a conflict with another one, such as a deadlock (SQLSTATE class 40). */
export function isConflict(error: unknown): boolean {
  return hasCode(error, /^40...$/);
}

const unavailableDetail = 'The database is unavailable. Retry in 2 seconds.';

/** There is no cause, because the outage is logged once and not with every request. */
export function unavailable(): DatabaseOutage {
  return new DatabaseOutage('unavailable', unavailableDetail, 2);
}

function isOutage(error: unknown): error is Error {
  return hasCode(error, outageCodes) || (error instanceof Error && (outageMessages.test(error.message) || isOutage(error.cause)));
}

function hasCode(error: unknown, codes: RegExp): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && typeof error.code === 'string' && codes.test(error.code)) || hasCode(error.cause, codes);
}

/** Returns what the driver reports. If several addresses were tried, only the code tells something. */
export function reasonOf(error: Error): string {
  if (error.cause instanceof Error) return reasonOf(error.cause);
  return error.message || ('code' in error ? String(error.code) : error.name);
}
