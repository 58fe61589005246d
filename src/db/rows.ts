import type { SnakeCase } from '@mikro-orm/sql';
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { NotFound, ProblemError, RetryLaterError } from '../errors.ts';
import { repeatAfterDeadlock } from './repeat-after-deadlock.ts';
import { isGiven, prepare, type Query, type Statement } from './statement.ts';
import { type AnyEntity, columnName, isNullable, type RowOf, selectFrom, tables } from './tables.ts';

// One way to read a row, to read a page, to write on a condition, and to enforce a quota.

type Queryable = { query: Query };

/** Prepares the statement that reads the row with an id. */
export function prepareSelect<Entity extends AnyEntity>(entity: Entity): (given: { id: number }) => Statement<RowOf<Entity>> {
  // The compiler cannot see that every entity here has an id.
  return prepare(({ id }: { id: number }) => selectFrom(entity).where('id' as never, '=', id as never));
}

/** Prepares a function that reads the user's row with an id, or throws NotFound. */
export function prepareRead<Entity extends AnyEntity>(entity: Entity): (db: Queryable, id: number) => Promise<RowOf<Entity>> {
  const select = prepareSelect(entity);
  return async (db, id) => {
    const [[row]] = await db.query(select({ id }));
    if (!row) throw new NotFound(entity.meta.className, id);
    return row;
  };
}

interface PageNumber {
  page: number;
  pageSize: number;
}

/** Prepares two statements from one that selects all rows: one page of them, and their number. */
export function preparePage<Given extends object, Row>(
  // biome-ignore lint/suspicious/noExplicitAny: `build` has checked tables and columns.
  build: (given: Given) => SelectQueryBuilder<any, any, Row>,
): (given: Given & PageNumber) => [Statement<Row>, Statement<{ total: number }>] {
  const rows = prepare((given: Given & { limit: number; offset: number }) => build(given).limit(given.limit).offset(given.offset));
  const count = prepare((given: Given) =>
    build(given).clearSelect().clearOrderBy().select(sql<number>`count(*)::int`.as('total')).$castTo<{ total: number }>(),
  );
  return (given) => [rows({ ...given, limit: given.pageSize, offset: (given.page - 1) * given.pageSize }), count(given)];
}

/** Assigns the properties that are given. Absent ones keep their value. */
export function setGiven<Given extends object>(
  entity: AnyEntity,
  given: Given,
  names: readonly (keyof Given & string)[],
): { [Name in keyof Given as SnakeCase<Name & string>]: RawBuilder<NonNullable<Given[Name]>> } {
  const assignments = names.map((name) => {
    const [column, value] = [columnName(name), given[name]];
    // Null is a value of a nullable column. Otherwise it stands for an absent one.
    const change = isNullable(entity, name)
      ? sql`case when ${isGiven(value)} then ${value} else ${sql.ref(column)} end`
      : sql`coalesce(${value}, ${sql.ref(column)})`;
    return [column, change];
  });
  return Object.fromEntries(assignments);
}

/** A row that changes gets a new version. app_now() is the start of the transaction, which may be before the last change. */
export const newVersion = { version: sql<number>`version + 1`, updated_at: sql<Date>`greatest(app_now(), updated_at)` };

/** Whether a row has one of the versions that If-Match allows. Undefined allows any. */
export function hasVersion(versions: number[] | undefined) {
  return sql<boolean>`(${versions}::int[] is null or version = any (${versions}::int[]))`;
}

/** The condition of a write: the row, and the versions of it that If-Match allows. */
export interface WriteCondition {
  id: number;
  versions: number[] | undefined;
}

/** Prepares the deletion of a row. */
export function prepareDelete<Entity extends AnyEntity>(entity: Entity): (given: WriteCondition) => Statement<{ id: number }> {
  return prepare(({ id, versions }: WriteCondition) =>
    tables()
      .deleteFrom(entity.tableName as never)
      .where('id' as never, '=', id as never)
      .where(hasVersion(versions))
      .returning('id' as never)
      .$castTo<{ id: number }>(),
  );
}

const attempts = 5;

/**
 * Runs a conditional write, and statements that belong to it. If it changes no row, another write came first, and `decide` is
 * called again. It reads what it needs and throws if the write is not possible.
 */
export async function writeIf<Row>(
  db: Queryable,
  decide: (isRetry: boolean) => Promise<[write: Statement<Row>, ...others: Statement[]]>,
): Promise<Row> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const statements = await decide(attempt > 0);
    const [[row]] = await repeatAfterDeadlock(() => db.query(...statements));
    if (row !== undefined) return row;
  }
  throw new RetryLaterError('unavailable', 'Too many concurrent changes to the same resource. Retry in 2 seconds.', 2);
}

interface Quota {
  table: 'websites' | 'monitors' | 'providers' | 'api_keys';
  maximum: number;
}

const checkQuota = prepare(({ table, maximum }: Quota) => sql`select enforce_quota(${table}, ${maximum})`);

/** Runs statements that create a row. If the user then has too many, the transaction is rolled back. */
export async function createWithinQuota<Row>(db: Queryable, quota: Quota, create: Statement<Row>, ...others: Statement[]): Promise<Row> {
  const [[row]] = await db.query(create, checkQuota(quota), ...others).catch((error: unknown) => explainQuota(error, quota));
  return row as Row;
}

/** Throws, and so rolls the transaction back, if what was created in it exceeds a quota. */
export async function enforceQuota(db: Queryable, quota: Quota): Promise<void> {
  await db.query(checkQuota(quota)).catch((error: unknown) => explainQuota(error, quota));
}

function explainQuota(error: unknown, { table, maximum }: Quota): never {
  if (!hasCode(error, 'SK001')) throw error;
  throw new ProblemError('quota_exceeded', `A user can have at most ${maximum} ${table.replace('api_', '')}.`);
}

/** Whether PostgreSQL reported this SQLSTATE. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
