import type { EntitySchema } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';
import { NotFound, TryLater } from '../errors.ts';

/** A statement with its values ($1, $2 …) and the type of the rows that it returns. The text never holds a value. */
export interface Statement<Row = unknown> {
  text: string;
  values: readonly unknown[];
  /** Only for the compiler. */
  row?: Row;
}

type RowsOf<Statements extends Statement[]> = {
  [Index in keyof Statements]: Statements[Index] extends Statement<infer Row> ? Row[] : never;
};

/** Runs statements in one round trip and one transaction, in which only the user's rows exist; returns the rows of each. */
export type Ask = <Statements extends Statement[]>(...statements: Statements) => Promise<RowsOf<Statements>>;

export function sql<Row>(text: string, values: readonly unknown[] = []): Statement<Row> {
  return { text, values };
}

/** Rows in the shape of an entity, without the mapper's work. `rest` is what follows the table's name. */
export function selectFrom<Item>(entity: EntitySchema<Item>, rest: string, values: readonly unknown[]): Statement<Item> {
  return sql(
    textOf(entity, rest, () => `select ${columnsOf(entity)} from ${entity.tableName} ${rest}`),
    values,
  );
}

/** The caller's item with this id, or NotFound. */
export async function readOwn<Item>(ask: Ask, entity: EntitySchema<Item>, id: number): Promise<Item> {
  const [[item]] = await ask(selectFrom(entity, 'where id = $1', [id]));
  if (!item) throw new NotFound();
  return item;
}

const tries = 5;

/**
 * A write that holds only while its conditions do. Where it changed nothing, `refuse` finds out why and throws that; if it
 * finds nothing wrong any more, somebody else was quicker, and the write is tried again.
 */
export async function writeIf<Row>(ask: Ask, statement: Statement<Row>, refuse: () => Promise<void>): Promise<Row> {
  for (let attempt = 0; attempt < tries; attempt++) {
    const [[row]] = await ask(statement);
    if (row !== undefined) return row;
    await refuse();
  }
  throw new TryLater('unavailable', 'Too many others change the same item. Try again in 2 seconds.', 2);
}

export interface PageQuery {
  /** Such as `monitor_id = $1`. */
  where?: string;
  values?: readonly unknown[];
  orderBy: string;
  page: number;
  pageSize: number;
}

/** One page of an entity's rows, and how many there are on all pages. */
export function selectPage<Item>(
  entity: EntitySchema<Item>,
  { where = 'true', values = [], orderBy, page, pageSize }: PageQuery,
): [Statement<Item>, Statement<{ total: number }>] {
  const [limit, offset] = [values.length + 1, values.length + 2];
  return [
    selectFrom(entity, `where ${where} order by ${orderBy} limit $${limit} offset $${offset}`, [
      ...values,
      pageSize,
      (page - 1) * pageSize,
    ]),
    sql(
      textOf(entity, `count ${where}`, () => `select count(*)::int as total from ${entity.tableName} where ${where}`),
      values,
    ),
  ];
}

/** The columns of an entity under the names of its properties. */
export function columnsOf<Item>(entity: EntitySchema<Item>): string {
  return Object.keys(entity.meta.properties)
    .map((property) => [property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), property])
    .map(([column, property]) => (column === property ? column : `${column} as "${property}"`))
    .join(', ');
}

const texts = new WeakMap<object, Map<string, string>>();

/** Put together once, so that a text is always the same string: it names the prepared statement. */
function textOf(entity: object, key: string, build: () => string): string {
  const known = texts.get(entity) ?? new Map<string, string>();
  texts.set(entity, known);
  const text = known.get(key) ?? build();
  known.set(key, text);
  return text;
}

/** The same statements inside a transaction that is open already. */
export function askIn(em: SqlEntityManager): Ask {
  const run = ({ text, values }: Statement) => {
    const inOrder: unknown[] = [];
    const marked = text.replace(/\$(\d+)/g, (_, number) => {
      inOrder.push(values[Number(number) - 1] ?? null);
      return '?';
    });
    return em.execute<unknown[]>(marked, inOrder);
  };
  return async (...statements) => {
    const rows: unknown[][] = [];
    for (const statement of statements) rows.push(await run(statement));
    return rows as never;
  };
}
