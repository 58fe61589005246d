import type { EntitySchema } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';
import { NotFound, RetryLaterError } from '../errors.ts';

/** SQL text with placeholders ($1, $2 …), their values, and the type of the rows it returns. Values are never part of the text. */
export interface Statement<Row = unknown> {
  text: string;
  values: readonly unknown[];
  /** Exists only for the compiler. */
  row?: Row;
}

type RowsOf<Statements extends Statement[]> = {
  [Index in keyof Statements]: Statements[Index] extends Statement<infer Row> ? Row[] : never;
};

/** Runs statements in one round trip and one transaction, limited to one user's rows. Returns the rows of each statement. */
export type Query = <Statements extends Statement[]>(...statements: Statements) => Promise<RowsOf<Statements>>;

type Queryable = { query: Query };

export function sql<Row>(text: string, values: readonly unknown[] = []): Statement<Row> {
  return { text, values };
}

/** Selects rows in the shape of an entity without the cost of the ORM's mapper. `rest` is everything after the table name. */
export function selectFrom<Item>(entity: EntitySchema<Item>, rest: string, values: readonly unknown[]): Statement<Item> {
  return sql(
    cachedText(entity, rest, () => `select ${columnsOf(entity)} from ${entity.tableName} ${rest}`),
    values,
  );
}

/** Returns the user's row with this id or throws NotFound. */
export async function readById<Item>(db: Queryable, entity: EntitySchema<Item>, id: number): Promise<Item> {
  const [[item]] = await db.query(selectFrom(entity, 'where id = $1', [id]));
  if (!item) throw new NotFound(entity.meta.className, id);
  return item;
}

const attempts = 5;

/**
 * Runs a conditional write. If it changes no row, `explain` reads the row and throws the reason. If `explain` finds no
 * reason, a concurrent write changed the row, and the write is retried.
 */
export async function writeIf<Row>(db: Queryable, statement: Statement<Row>, explain: () => Promise<void>): Promise<Row> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const [[row]] = await db.query(statement);
    if (row !== undefined) return row;
    await explain();
  }
  throw new RetryLaterError('unavailable', 'Too many concurrent changes to the same resource. Retry in 2 seconds.', 2);
}

export interface PageQuery {
  /** A condition such as `monitor_id = $1`. */
  where?: string;
  values?: readonly unknown[];
  orderBy: string;
  page: number;
  pageSize: number;
}

/** Selects one page of an entity's rows, and the number of rows on all pages. */
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
      cachedText(entity, `count ${where}`, () => `select count(*)::int as total from ${entity.tableName} where ${where}`),
      values,
    ),
  ];
}

/** Returns the columns of an entity, each renamed to its property. `change` replaces a column by an expression. */
export function columnsOf<Item>(entity: EntitySchema<Item>, change = (column: string) => column): string {
  return Object.keys(entity.meta.properties)
    .map((property) => [change(property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)), property])
    .map(([column, property]) => (column === property ? column : `${column} as "${property}"`))
    .join(', ');
}

const textsByEntity = new WeakMap<object, Map<string, string>>();

/** Builds each text once: prepared statements are looked up by their text, and the same string object compares fastest. */
export function cachedText(entity: object, key: string, build: () => string): string {
  const texts = textsByEntity.get(entity) ?? new Map<string, string>();
  textsByEntity.set(entity, texts);
  const text = texts.get(key) ?? build();
  texts.set(key, text);
  return text;
}

/** Runs statements inside a transaction that is already open. MikroORM's placeholder is `?`, so $1, $2 … are translated. */
export function queryInTransaction(em: SqlEntityManager): Query {
  const run = ({ text, values }: Statement) => {
    const inOrder: unknown[] = [];
    const translated = text.replace(/\$(\d+)/g, (_, number) => {
      inOrder.push(values[Number(number) - 1] ?? null);
      return '?';
    });
    return em.execute<unknown[]>(translated, inOrder);
  };
  return async (...statements) => {
    const rows: unknown[][] = [];
    for (const statement of statements) rows.push(await run(statement));
    return rows as never;
  };
}
