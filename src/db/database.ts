import { setTimeout as pause } from 'node:timers/promises';
import type { MikroORM, Options, SessionContext } from '@mikro-orm/core';
import type { AbstractSqlDriver, SqlEntityManager } from '@mikro-orm/sql';
import { TryLater } from '../errors.ts';
import { migrationNames, migrationsTable } from './migrate.ts';
import type { Listener } from './notices.ts';
import { type Ask, type Statement, sql } from './statement.ts';

/** What is done in one transaction. */
export type Work<T> = (em: SqlEntityManager) => Promise<T>;

/** The one door to the data, the same for the embedded database and for PostgreSQL. */
export interface Database {
  /** One transaction in which only this user's rows exist. */
  asUser<T>(userId: number, work: Work<T>): Promise<T>;
  /** Statements of this user in one round trip: for what is read and written often. */
  ask(userId: number): Ask;
  /** One transaction without a user: no row is visible, only the functions named door_… answer. */
  atTheDoor<T>(work: Work<T>): Promise<T>;
  /** One transaction of the engine, which works for all users but may only do what checks and alerts take. */
  asEngine<T>(work: Work<T>): Promise<T>;
  /** Hears what `pg_notify` says on a channel, in this process or another, until the database is closed. */
  listen(channel: string, listener: Listener): Promise<void>;
  /** How the pool stands. */
  connections(): Connections;
  /** Whether the database answers and has every migration of this version. */
  isReady(): Promise<boolean>;
  close(): Promise<void>;
}

export interface Connections {
  busy: number;
  idle: number;
  /** Requests that wait for a connection. */
  waiting: number;
}

/** Set in every transaction that works for a user; the policies compare it with user_id. */
export const userVariable = 'app.user_id';
const setUser = `select set_config('${userVariable}', $1, true)`;

/** What the features store; they are handed in, so that the database knows none of them. */
export type Entities = NonNullable<Options['entities']>;

const readyMs = 2000;

/** Refuses to serve as a role that could see past the policies. */
export async function openAs(orm: MikroORM<AbstractSqlDriver>, own: Own): Promise<Database> {
  const database = new OrmDatabase(orm, own);
  try {
    await database.assertHarmlessRole();
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

/** What each kind of database does in its own way. */
interface Own {
  /** Returns what stops the listening. */
  listen(channel: string, listener: Listener): Promise<() => Promise<void>>;
  /** Runs statements in one transaction. */
  ask(statements: Statement[]): Promise<unknown[][]>;
  connections(): Connections;
  /** Whether it cannot be used any more. */
  isLost?(): boolean;
  /** What is left to close after the ORM. */
  close?(): Promise<void>;
}

class OrmDatabase implements Database {
  readonly #orm: MikroORM<AbstractSqlDriver>;
  readonly #own: Own;
  readonly #stopListening: (() => Promise<void>)[] = [];
  #closing: Promise<void> | undefined;

  constructor(orm: MikroORM<AbstractSqlDriver>, own: Own) {
    this.#orm = orm;
    this.#own = own;
  }

  asUser<T>(userId: number, work: Work<T>): Promise<T> {
    return this.#transaction({ variables: { [userVariable]: userId } }, work);
  }

  ask(userId: number): Ask {
    return async (...statements) => {
      const [, ...rows] = await this.#whileOpen(() => this.#own.ask([sql(setUser, [userId]), ...statements]));
      return rows as never;
    };
  }

  atTheDoor<T>(work: Work<T>): Promise<T> {
    return this.#transaction({}, work);
  }

  asEngine<T>(work: Work<T>): Promise<T> {
    return this.#transaction({ role: 'sitekeeper_engine' }, work);
  }

  #transaction<T>(session: SessionContext, work: Work<T>): Promise<T> {
    return this.#whileOpen(() => this.#orm.em.fork({ session }).transactional(work));
  }

  async #whileOpen<T>(work: () => Promise<T>): Promise<T> {
    // Once closed, MikroORM would connect again.
    if (this.#closing || this.#own.isLost?.()) throw unavailable();
    try {
      return await work();
    } catch (error) {
      throw isConnectionLoss(error) ? unavailable(error) : error;
    }
  }

  /** Whoever asks wants to know it now: no answer is one, too. */
  isReady(): Promise<boolean> {
    return Promise.race([this.#hasMigrations(), pause(readyMs, false, { ref: false })]);
  }

  async #hasMigrations(): Promise<boolean> {
    if (this.#closing) return false;
    try {
      const rows = await this.#orm.em.fork().execute<{ name: string }[]>(`select name from ${migrationsTable}`);
      const done = new Set(rows.map((row) => row.name));
      return migrationNames.every((name) => done.has(name));
    } catch {
      return false;
    }
  }

  async assertHarmlessRole() {
    const [role] = await this.#orm.em.fork().execute<{ name: string; bypasses: boolean; owns: boolean }[]>(
      `select r.rolname as name, r.rolsuper or r.rolbypassrls as bypasses,
              exists (select from pg_class c where c.relowner = r.oid) as owns
         from pg_roles r where r.rolname = current_user`,
    );
    if (!role || role.bypasses || role.owns) {
      throw new Error(`The database role "${role?.name}" could see past the row-level policies; refusing to serve with it.`);
    }
  }

  connections(): Connections {
    return this.#own.connections();
  }

  async listen(channel: string, listener: Listener): Promise<void> {
    this.#stopListening.push(await this.#own.listen(channel, listener));
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      await Promise.all(this.#stopListening.map((stop) => stop()));
      await this.#orm.close();
      await this.#own.close?.();
    })();
    return this.#closing;
  }
}

/** A lost database is nobody's mistake and passes: callers are told to come back. */
function unavailable(cause?: unknown): TryLater {
  return new TryLater('unavailable', 'The database cannot be reached for the moment. Try again in 2 seconds.', 2, { cause });
}

// SQLSTATE classes 08 (connection), 53 (too many connections, no room on the disk) and 57 (shutdown, a statement that took
// too long), a transaction that did nothing for too long, and what the socket says.
const lossCodes = /^(08...|25P03|53...|57...|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|ENOENT)$/;
const lossMessages = /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error/;

function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: unknown }).code;
  return (typeof code === 'string' && lossCodes.test(code)) || lossMessages.test(error.message) || isConnectionLoss(error.cause);
}
