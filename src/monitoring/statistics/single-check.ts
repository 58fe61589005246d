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

// A check takes about five bytes: three for the time since the beginning of the hour and two flags, and the response time. A failure is
// described before the check: a marker, the length of a text, and the text. The description holds until the next one, so that repeated
// failures take no more space than successes.
const upFlag = 1;
const responseFlag = 2;
const flags = 4;
/** Greater than any time in an hour with its flags. */
const descriptionMarker = 0xff_ff_ff;
/** The bytes of a description before its text. */
export const descriptionHead = 5;

/** Encodes a check for the log of its hour, after the description of its failure. */
export function encodeCheck({ checkedAtMs, responseTimeMs, failure }: SingleCheck, hourMs: number): Buffer {
  const writer = new ByteWriter();
  if (failure) {
    const text = Buffer.from(describeFailure(failure));
    writeBigEndian(writer, descriptionMarker, 3);
    writeBigEndian(writer, text.length, 2);
    for (const byte of text) writer.byte(byte);
  }
  const head = (checkedAtMs - hourMs) * flags + (failure ? 0 : upFlag) + (responseTimeMs === undefined ? 0 : responseFlag);
  writeBigEndian(writer, head, 3);
  if (responseTimeMs !== undefined) writer.varint(responseTimeMs);
  return writer.finish();
}

/** Two failures are the same if their descriptions are. */
export function describeFailure({ statusCode, cause }: Failure): string {
  return `${statusCode ?? ''} ${cause}`;
}

/** Decodes the checks of an hour, in the order in which they were recorded. */
export function decodeChecks(bytes: Uint8Array, hourMs: number): SingleCheck[] {
  const reader = new ByteReader(bytes);
  const checks: SingleCheck[] = [];
  let failure: Failure | undefined;
  while (!reader.isAtEnd) {
    const head = readBigEndian(reader, 3);
    if (head === descriptionMarker) {
      failure = parseFailure(Buffer.from(reader.take(readBigEndian(reader, 2))).toString());
      continue;
    }
    const responseTimeMs = head & responseFlag ? reader.varint() : undefined;
    checks.push({ checkedAtMs: hourMs + Math.floor(head / flags), responseTimeMs, failure: head & upFlag ? undefined : failure });
  }
  return checks;
}

function parseFailure(description: string): Failure {
  const space = description.indexOf(' ');
  const statusCode = description.slice(0, space);
  return { statusCode: statusCode === '' ? null : Number(statusCode), cause: description.slice(space + 1) };
}

function writeBigEndian(writer: ByteWriter, value: number, length: number) {
  for (let shift = (length - 1) * 8; shift >= 0; shift -= 8) writer.byte((value >> shift) & 255);
}

function readBigEndian(reader: ByteReader, length: number): number {
  let value = 0;
  for (let index = 0; index < length; index++) value = value * 256 + reader.byte();
  return value;
}
