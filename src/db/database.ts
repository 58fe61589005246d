import { setTimeout as delay } from 'node:timers/promises';
import type { MikroORM, Options, SessionContext } from '@mikro-orm/core';
import type { AbstractSqlDriver, SqlEntityManager } from '@mikro-orm/sql';
import { type AvailabilityObserver, convertTemporaryError, unavailable } from './availability.ts';
import type { NotificationListener } from './listen.ts';
import { migrationNames, migrationsTable } from './migrate.ts';
import { assertRestrictedLogin } from './restricted-login.ts';
import { failWithStatements, type Query, queryInTransaction, type Statement } from './statement.ts';
import { traceStatements, traceTransaction } from './trace-statements.ts';

/** A function that runs in one transaction. */
export type Work<T> = (em: SqlEntityManager) => Promise<T>;

/** The only access to the data, the same for the embedded database and for PostgreSQL. */
export interface Database {
  /** How many transactions and writes can run at the same time. */
  readonly concurrency: number;
  /** One transaction that sees only this user's rows. */
  asUser<T>(userId: number, work: Work<T>): Promise<T>;
  /** Runs this user's statements in one round trip. Without a user it can do what `asAuthenticator` can. */
  query(userId?: number): Query;
  /** One transaction without a user: no row is visible, and only the auth_* functions return anything. */
  asAuthenticator<T>(work: Work<T>): Promise<T>;
  /** One transaction of the engine. It sees the rows of all users, but can change only what checks and alerts need. */
  asEngine<T>(work: Work<T>): Promise<T>;
  /** The same for work that needs no EntityManager, in fewer round trips. The loops of the engine use it all the time. */
  engineTransaction<T>(work: (query: Query) => Promise<T>): Promise<T>;
  /** Receives what any process sends with pg_notify on a channel, until the database is closed. */
  listen(channel: string, listener: NotificationListener): Promise<void>;
  /** The time on the database's clock, app_now(), in milliseconds. Only tests and the mock move it. */
  now(): number;
  /** The state of the connection pool. */
  connections(): Connections;
  /** Whether the database responds and has every migration of this version. */
  isReady(): Promise<boolean>;
  /** Returns the migrations of this version that have not run. */
  missingMigrations(): Promise<string[]>;
  /** Copies the files of the embedded database to a new directory while it is used. PostgreSQL has other tools for that. */
  backup?(target: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface Connections {
  busy: number;
  idle: number;
  /** Requests that wait for a connection. */
  waiting: number;
}

/** Returns why the database cannot be used, or undefined if it can. */
export async function databaseReadiness(database: Pick<Database, 'isReady'>): Promise<string | undefined> {
  return (await database.isReady()) ? undefined : 'the database does not respond, or a migration is missing';
}

/** Starts every transaction that works for a user. The row-level policies compare this id with user_id. */
function setUser(userId: number): Statement {
  return { text: 'select set_user_id($1)', values: [String(userId)] };
}

/** Makes the rest of a transaction that began without a user work for a user. */
export async function continueAsUser(em: SqlEntityManager, userId: number): Promise<void> {
  await queryInTransaction(em)(setUser(userId));
}

/** The role that every connection of the service starts with. */
export const appRole = 'sitekeeper_app';
const engineRole = 'sitekeeper_engine';
/** Until the end of the transaction. */
const setEngineRole: Statement = { text: `set local role ${engineRole}`, values: [] };

/** The entities are passed in, so that the data layer depends on no feature. */
export type Entities = NonNullable<Options['entities']>;

const readinessTimeoutMs = 2000;

/** Creates the Database. Throws if row-level security does not apply to its login or role. */
export async function openDatabaseOn(orm: MikroORM<AbstractSqlDriver>, backend: DatabaseBackend): Promise<OrmDatabase> {
  const database = new OrmDatabase(orm, backend);
  try {
    await database.assertRestricted();
    await database.readClock();
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

/** What the embedded database and PostgreSQL do differently. */
interface DatabaseBackend {
  concurrency: number;
  /** Listens until the database is closed. */
  listen(channel: string, listener: NotificationListener): Promise<void>;
  /** Runs statements in one transaction. */
  query(statements: Statement[]): Promise<unknown[][]>;
  /** Begins a transaction with the first statements. Without it, the ORM runs such transactions. */
  transaction?<T>(first: Statement[], work: (query: Query) => Promise<T>): Promise<T>;
  connections(): Connections;
  availability?: AvailabilityObserver | undefined;
  /** Whether the database has crashed and cannot be used any more. */
  hasCrashed?(): boolean;
  /** Closes what the ORM does not close. */
  close?(): Promise<void>;
}

/** Database for both backends. */
export class OrmDatabase implements Database {
  readonly #orm: MikroORM<AbstractSqlDriver>;
  readonly #backend: DatabaseBackend;
  #closing: Promise<void> | undefined;
  #clockOffsetMs = 0;

  constructor(orm: MikroORM<AbstractSqlDriver>, backend: DatabaseBackend) {
    this.#orm = orm;
    this.#backend = backend;
  }

  get concurrency(): number {
    return this.#backend.concurrency;
  }

  asUser<T>(userId: number, work: Work<T>): Promise<T> {
    return this.#transaction({}, async (em) => {
      await continueAsUser(em, userId);
      return work(em);
    });
  }

  query(userId?: number): Query {
    const start = userId === undefined ? [] : [setUser(userId)];
    return async (...statements) => {
      const rows = await this.#whileOpen(() => traceStatements(statements, () => this.#backend.query([...start, ...statements])));
      return rows.slice(start.length) as never;
    };
  }

  asAuthenticator<T>(work: Work<T>): Promise<T> {
    return this.#transaction({}, work);
  }

  asEngine<T>(work: Work<T>): Promise<T> {
    return this.#transaction({ role: engineRole }, work);
  }

  engineTransaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    const { transaction } = this.#backend;
    if (!transaction) return this.asEngine((em) => failWithStatements(work, queryInTransaction(em)));
    const traced =
      (query: Query): Query =>
      (...statements) =>
        traceStatements(statements, () => query(...statements));
    return this.#whileOpen(() => traceTransaction(() => transaction([setEngineRole], (query) => failWithStatements(work, traced(query)))));
  }

  #transaction<T>(session: SessionContext, work: Work<T>): Promise<T> {
    return this.#whileOpen(() => traceTransaction(() => this.#orm.em.fork({ session }).transactional(work)));
  }

  async #whileOpen<T>(work: () => Promise<T>): Promise<T> {
    // MikroORM would reconnect after it has been closed.
    if (this.#closing || this.#backend.hasCrashed?.()) throw unavailable();
    const { availability } = this.#backend;
    try {
      const result = await work();
      availability?.succeeded();
      return result;
    } catch (error) {
      // While it is being closed, lost connections say nothing about the database.
      throw convertTemporaryError(error, this.#closing ? undefined : availability);
    }
  }

  /** A database that does not respond in time is not ready: load balancers need a result now. */
  isReady(): Promise<boolean> {
    return Promise.race([this.#hasMigrations(), delay(readinessTimeoutMs, false, { ref: false })]);
  }

  async #hasMigrations(): Promise<boolean> {
    if (this.#closing) return false;
    try {
      return (await this.#whileOpen(() => this.missingMigrations())).length === 0;
    } catch {
      return false;
    }
  }

  async missingMigrations(): Promise<string[]> {
    const rows = await this.#orm.em.fork().execute<{ name: string }[]>(`select name from ${migrationsTable}`);
    const done = new Set(rows.map((row) => row.name));
    return migrationNames.filter((name) => !done.has(name));
  }

  /** Everything that the service runs relies on the role of the connection and on the restrictions of its login. */
  async assertRestricted() {
    const em = this.#orm.em.fork();
    await assertRestrictedLogin(queryInTransaction(em));
    const [connection] = await em.execute<{ role: string }[]>('select current_user as role');
    if (connection?.role !== appRole) {
      throw new Error(
        `The database connection has the role "${connection?.role}" instead of "${appRole}". Do not use a connection pooler: it drops the role.`,
      );
    }
  }

  /** Reads how far the clock of the database was moved. */
  async readClock() {
    const [clock] = await this.#orm.em
      .fork()
      .execute<{ ms: number }[]>(
        `select extract(epoch from nullif(current_setting('app.clock_offset', true), '')::interval)::float8 * 1000 as ms`,
      );
    this.#clockOffsetMs = clock?.ms ?? 0;
  }

  now(): number {
    return Date.now() + this.#clockOffsetMs;
  }

  connections(): Connections {
    return this.#backend.connections();
  }

  listen(channel: string, listener: NotificationListener): Promise<void> {
    return this.#backend.listen(channel, listener);
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      await this.#orm.close();
      await this.#backend.close?.();
    })();
    return this.#closing;
  }
}
