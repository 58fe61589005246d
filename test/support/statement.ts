import type { Statement } from '../../src/db/statement.ts';

/** A statement that only a test needs. */
export function sql<Row>(text: string, values: readonly unknown[] = []): Statement<Row> {
  return { text, values };
}
