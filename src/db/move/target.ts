import type pg from 'pg';
import { OperatorError } from '../../errors.ts';
import { Hosts } from '../hosts.ts';
import { isMoveUnfinished, unfinishedMove } from '../unfinished-move.ts';
import { type OwnerQuery, quote, readTables, type Table } from './catalog.ts';

/** How far the rows of a table were copied. */
export interface Progress {
  rows: number;
  /** The primary key of the last row that was copied. */
  lastKey: string[];
}

/** The same in both databases, because rows are copied and compared as text. */
export const textFormat = `set timezone = 'UTC'; set datestyle = 'ISO'; set intervalstyle = 'postgres';
  set bytea_output = 'hex'; set extra_float_digits = 1`;

/** Waits for the server to notice that a move was killed. */
const lockTimeout = '10s';

/** The PostgreSQL database that a move copies into, used as its owner. */
export class MoveTarget {
  readonly #client: pg.Client;
  #isLost = false;

  private constructor(client: pg.Client) {
    this.#client = client;
    client.once('end', () => {
      this.#isLost = true;
    });
  }

  static async connect(ownerUrl: string): Promise<MoveTarget> {
    decodeURIComponent(ownerUrl); // Throws if a % is not encoded, as the migrations would after the move has begun.
    const hosts = new Hosts(ownerUrl);
    const client = new hosts.Client({
      connectionString: hosts.url,
      application_name: 'sitekeeper move',
      connectionTimeoutMillis: 5000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
    });
    client.on('error', () => {}); // The statement that needs the connection fails as well.
    await client.connect();
    await client.query(`${textFormat}; set statement_timeout = 0; set idle_in_transaction_session_timeout = 0;
      set lock_timeout = '${lockTimeout}'`);
    return new MoveTarget(client);
  }

  readonly query: OwnerQuery = async (text, values) => (await this.#client.query(text, values)).rows;

  /** Whether the connection has ended. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Throws if another process moves something into this database. The server releases the lock when the connection ends. */
  async lock(): Promise<void> {
    try {
      await this.query(`select pg_advisory_lock(hashtext('sitekeeper move'))`);
    } catch (error) {
      if ((error as { code?: string }).code !== '55P03') throw error;
      throw new OperatorError('Another "sitekeeper move" copies into this database. Wait until it has finished.');
    }
  }

  /**
   * Begins a move, or continues one from the same source. The marker is created before the first migration, so that no service
   * starts on this database in between. Returns whether it continues.
   */
  async begin(source: string, tables: Table[]): Promise<boolean> {
    if (await isMoveUnfinished(this.query)) {
      const [marker] = await this.query<{ source: string }>(`select source from ${unfinishedMove}`);
      if (marker?.source === source) return true;
      throw new OperatorError('The database contains an unfinished move from another data directory. Use an empty database.');
    }
    await this.#transaction(async () => {
      await this.query(`create table ${unfinishedMove} (source text not null, progress jsonb not null default '{}')`);
      await this.query(`insert into ${unfinishedMove} (source) values ($1)`, [source]);
      await this.#rejectContents(tables);
    });
    return false;
  }

  /** Throws unless the database has no tables, or has only those of Sitekeeper, without rows. */
  async #rejectContents(expected: Table[]): Promise<void> {
    const [connected] = await this.query(
      `select from pg_stat_activity where datname = current_database() and application_name in ('sitekeeper', 'sitekeeper listener')`,
    );
    if (connected) throw new OperatorError('A Sitekeeper process uses the database. Stop it, and use an empty database.');
    for (const table of await readTables(this.query)) {
      if (!expected.some(({ name }) => name === table.name)) {
        throw new OperatorError(`The database is not empty: it has a table "${table.name}". Use an empty database.`);
      }
      await this.#unrestrict(table);
      const [row] = await this.query(`select from ${quote(table.name)} limit 1`);
      if (row) throw new OperatorError(`The database is not empty: the table ${table.name} has rows. Use an empty database.`);
      await this.#restrict(table);
    }
  }

  /** Deletes the rows that an unfinished move has copied. */
  async empty(tables: Table[]): Promise<void> {
    await this.#transaction(async () => {
      await this.query(`truncate ${tables.map(({ name }) => quote(name)).join(', ')}`);
      await this.query(`update ${unfinishedMove} set progress = '{}'`);
    });
  }

  async readProgress(): Promise<Record<string, Progress>> {
    const [marker] = await this.query<{ progress: Record<string, Progress> }>(`select progress from ${unfinishedMove}`);
    return marker?.progress ?? {};
  }

  /** Inserts rows that are given as text, and stores the progress in the same transaction, so that no row is inserted twice. */
  async insert(table: Table, rows: string[], progress: Progress): Promise<void> {
    const stored = table.columns.filter(({ isGenerated }) => !isGenerated).map(({ name }) => quote(name));
    await this.withoutRestrictions(table, async () => {
      await this.query(
        `insert into ${quote(table.name)} (${stored.join(', ')}) overriding system value
         select ${stored.map((name) => `(copied).${name}`).join(', ')}
           from (select line::${quote(table.name)} as copied from unnest($1::text[]) as line offset 0) as lines`,
        [rows],
      );
      await this.query(`update ${unfinishedMove} set progress = progress || $1`, [JSON.stringify({ [table.name]: progress })]);
    });
  }

  /**
   * Runs work in a transaction in which the owner sees every row of a table and its triggers do not count rows. The changes to the
   * table belong to the transaction: whenever the move is interrupted, the schema is as the migrations left it.
   */
  withoutRestrictions<T>(table: Table, work: () => Promise<T>): Promise<T> {
    return this.#transaction(async () => {
      await this.#unrestrict(table);
      const result = await work();
      await this.#restrict(table);
      return result;
    });
  }

  async #unrestrict({ name, isForced }: Table): Promise<void> {
    await this.query(`alter table ${quote(name)} ${isForced ? 'no force row level security, ' : ''}disable trigger user`);
  }

  async #restrict({ name, isForced }: Table): Promise<void> {
    await this.query(`alter table ${quote(name)} ${isForced ? 'force row level security, ' : ''}enable trigger user`);
  }

  async #transaction<T>(work: () => Promise<T>): Promise<T> {
    await this.query('begin');
    try {
      const result = await work();
      await this.query('commit');
      return result;
    } catch (error) {
      await this.query('rollback').catch(() => {}); // The connection may be lost.
      throw error;
    }
  }

  async finish(): Promise<void> {
    await this.query(`drop table ${unfinishedMove}`);
  }

  async close(): Promise<void> {
    await this.#client.end().catch(() => {});
  }
}
