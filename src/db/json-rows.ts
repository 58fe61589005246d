import { type AliasedRawBuilder, sql } from 'kysely';

/** The SQL types that rows passed as JSON can have, and what they are in TypeScript. */
interface SqlTypes {
  bigint: number;
  integer: number;
  smallint: number;
  boolean: boolean;
  text: string;
  'text[]': string[];
  timestamptz: Date;
  jsonb: unknown;
}

type RowOfTypes<Columns> = { [Column in keyof Columns]: Columns[Column] extends keyof SqlTypes ? SqlTypes[Columns[Column]] : never };

/** Reads rows from one JSON parameter as a table: `jsonRows(given.rows, 'r', { id: 'bigint' })`. */
export function jsonRows<const Alias extends string, const Columns extends Record<string, keyof SqlTypes>>(
  json: string,
  alias: Alias,
  columns: Columns,
): AliasedRawBuilder<RowOfTypes<Columns>, Alias> {
  const definitions = Object.entries(columns).map(([name, type]) => sql`${sql.ref(name)} ${sql.raw(type)}`);
  return sql<RowOfTypes<Columns>>`json_to_recordset(${json}::json)`.as<Alias>(sql`${sql.ref(alias)} (${sql.join(definitions)})`);
}
