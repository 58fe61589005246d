import { type Aggregate, readAggregate, writeAggregate } from './aggregate.ts';
import { ByteReader, ByteWriter } from './varints.ts';

/**
 * The aggregates of one row: the hours of a day by their number from 0, or the days of a month by their number from 1. One row for
 * many periods takes a fraction of the space of many rows, and is read faster.
 */
export type Chunk = Map<number, Aggregate>;

export function encodeChunk(chunk: Chunk): Buffer {
  const writer = new ByteWriter();
  for (const [number, aggregate] of chunk) {
    writer.byte(number);
    writeAggregate(writer, aggregate);
  }
  return writer.finish();
}

export function decodeChunk(bytes: Uint8Array | undefined): Chunk {
  const chunk: Chunk = new Map();
  if (!bytes) return chunk;
  const reader = new ByteReader(bytes);
  while (!reader.isAtEnd) chunk.set(reader.byte(), readAggregate(reader));
  return chunk;
}
