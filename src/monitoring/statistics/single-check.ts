import { ByteReader, ByteWriter } from './varints.ts';

/** One check. */
export interface SingleCheck {
  checkedAtMs: number;
  /** Undefined if there was no response. */
  responseTimeMs: number | undefined;
  /** Undefined if the check succeeded. */
  failure: Failure | undefined;
}

export interface Failure {
  cause: string;
  statusCode: number | null;
}

// A check takes about five bytes: the time since the beginning of the hour and two flags, the response time, and of a failure
// whether it is like the failure before it in the hour, or else its status code and its cause.
const upFlag = 1;
const responseFlag = 2;
const flags = 4;
const [repeatedFailure, newFailure] = [0, 1];

/** A cause is cut, because each change of it is stored. */
export const maxCauseLength = 200;

/** Encodes a check for the row of its hour. `isRepeated` means that the failure before it in the hour was the same. */
export function encodeCheck({ checkedAtMs, responseTimeMs, failure }: SingleCheck, hourMs: number, isRepeated = false): Buffer {
  const writer = new ByteWriter();
  const head = (checkedAtMs - hourMs) * flags + (failure ? 0 : upFlag) + (responseTimeMs === undefined ? 0 : responseFlag);
  for (const shift of [0, 8, 16]) writer.byte((head >> shift) & 255);
  if (responseTimeMs !== undefined) writer.varint(responseTimeMs);
  if (failure && isRepeated) writer.byte(repeatedFailure);
  else if (failure) {
    writer.byte(newFailure);
    writer.varint(failure.statusCode ?? 0);
    writer.text(failure.cause);
  }
  return writer.finish();
}

/** Decodes the checks of an hour, in the order in which they were recorded. */
export function decodeChecks(bytes: Uint8Array, hourMs: number): SingleCheck[] {
  const reader = new ByteReader(bytes);
  const checks: SingleCheck[] = [];
  let lastFailure: Failure | undefined;
  while (!reader.isAtEnd) {
    const head = reader.byte() + reader.byte() * 256 + reader.byte() * 65_536;
    const responseTimeMs = head & responseFlag ? reader.varint() : undefined;
    if (!(head & upFlag) && reader.byte() === newFailure) lastFailure = readFailure(reader);
    checks.push({ checkedAtMs: hourMs + Math.floor(head / flags), responseTimeMs, failure: head & upFlag ? undefined : lastFailure });
  }
  return checks;
}

function readFailure(reader: ByteReader): Failure {
  const statusCode = reader.varint();
  return { statusCode: statusCode === 0 ? null : statusCode, cause: reader.text() };
}
