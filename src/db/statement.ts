import type { SqlEntityManager } from '@mikro-orm/sql';
import {
  CompiledQuery,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryExecutorProvider,
} from 'kysely';
import { traceStatements } from './trace-statements.ts';

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

/** Whether statements only read: they take no locks, so they wait only for each other. Run a function that writes in a transaction. */
export function onlyRead(statements: readonly Statement[]): boolean {
  return statements.every(({ text }) => text.startsWith('select '));
}

/** Builds and compiles statements. It has no connection. */
export const compiler = new Kysely<never>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** A query of Kysely, or a text with the tag `sql`. */
interface Buildable<Row> {
  compile(compiler: QueryExecutorProvider): CompiledQuery<Row>;
}

/** Takes the place of a value while a statement is compiled. */
class Parameter {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** Takes the place of the answer to whether a value is given. */
class Presence extends Parameter {}

/** A parameter of a prepared statement that says whether a value is given: null is, undefined is not. Use it only in `prepare`. */
export function isGiven(parameter: unknown): boolean {
  return new Presence((parameter as Parameter).name) as never;
}

/** `given` in the callback of `prepare`: each property is a parameter of that name. It has no own keys, so it cannot be spread. */
const parameters = new Proxy({}, { get: (_, name) => new Parameter(String(name)) });

/**
 * Compiles a statement once, when the module is loaded, and returns a function that adds the values. Compiling takes a hundred
 * times as long as adding values. The text never depends on the values, so that each statement is prepared once per connection.
 */
export function prepare<Given extends object, Row>(build: (given: Given) => Buildable<Row>): (given: Given) => Statement<Row> {
  const { sql: text, parameters: order } = build(parameters as Given).compile(compiler);
  return (given) => {
    const values: unknown[] = [];
    for (const value of order) values.push(fill(value, given as Record<string, unknown>));
    return { text, values };
  };
}

function fill(value: unknown, given: Record<string, unknown>): unknown {
  if (value instanceof Presence) return given[value.name] !== undefined;
  return value instanceof Parameter ? (given[value.name] ?? null) : value;
}

/** Runs statements inside the transaction of an EntityManager, or outside of any if it has none. */
export function queryInTransaction(em: SqlEntityManager): Query {
  const transaction = em.getKysely();
  return async (...statements) => {
    const rows: unknown[][] = [];
    for (const statement of statements) {
      const query = CompiledQuery.raw(statement.text, [...statement.values]);
      rows.push((await traceStatements([statement], () => transaction.executeQuery(query))).rows);
    }
    return rows as never;
  };
}

/**
 * Runs work in a transaction, and fails if it ignores the error of a statement. The transaction is aborted then: PostgreSQL answers
 * its commit with a rollback, and without an error.
 */
export async function failWithStatements<T>(work: (query: Query) => Promise<T>, query: Query): Promise<T> {
  const errors: unknown[] = [];
  const result = await work((...statements) =>
    query(...statements).catch((error: unknown) => {
      errors.push(error);
      throw error;
    }),
  );
  if (errors.length > 0) throw errors[0];
  return result;
}
