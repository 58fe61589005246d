import type { Socket } from 'node:net';
import type pg from 'pg';
import type { Connections } from './database.ts';
import { PipelinedQuery } from './pipelined-query.ts';
import type { Statement } from './statement.ts';

export type Pool = pg.Pool & { options: { types: pg.TypeOverrides } };

/** A connection that concurrent callers share. */
interface SharedConnection {
  client: pg.PoolClient;
  socket: Socket;
  /** Whether writes are buffered until the end of this turn of the event loop, so that they leave in one packet. */
  isCorked: boolean;
  pendingQueries: number;
  /** When it was acquired or last responded, on the monotonic clock. */
  lastActiveMs: number;
  /** False while a statement is being prepared on it: if that fails, every query sent after it fails as well. */
  acceptsQueries: boolean;
  /** Reads and writes use different connections, because a write waits for the disk and would delay reads behind it. */
  readOnly: boolean;
}

/**
 * How many queries share a connection. Fewer writes share one, because PostgreSQL commits several transactions with one disk
 * flush only if they come from different connections.
 */
const maxPending = { reads: 8, writes: 4 };
/** A connection that has not responded for this long is stalled, and no further query should queue behind it. */
const stalledMs = 5;
/** A smaller pool has no connection to keep for reads. */
const minToKeepOne = 3;

/**
 * Sends the statements of concurrent callers over the same connection without waiting for earlier responses. Most of the
 * cost of a small statement is waking up a server process; callers that share a connection wake up only one. Each caller
 * still has its own transaction.
 *
 * Compared with one connection per query, 16 callers read a row 1.3 to 1.4 times as often, 25 rows 1.0 to 1.4 times, and write
 * as often (`npm run bench:connections`). The service handles 1.1 to 1.4 times the requests that show, create or update a
 * website or list 25, and as many that list 100.
 */
export class ConnectionMultiplexer {
  readonly #pool: Pool;
  readonly #shared = new Set<SharedConnection>();

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  run(statements: Statement[]): Promise<unknown[][]> {
    return new Promise((resolve, reject) => {
      const done = (error: Error | null, rows: unknown[][] = []) => (error ? reject(error) : resolve(rows));
      const readOnly = statements.every(({ text }) => text.startsWith('select '));
      const shared = this.#findShared(readOnly);
      if (shared) return this.#send(statements, shared, done);
      this.#pool.connect((failed, client) => {
        if (failed || !client) return reject(failed);
        const connection: SharedConnection = {
          client,
          socket: socketOf(client),
          isCorked: false,
          pendingQueries: 0,
          lastActiveMs: performance.now(),
          acceptsQueries: true,
          readOnly,
        };
        this.#shared.add(connection);
        this.#send(statements, connection, done);
      });
    });
  }

  connections(): Connections {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    return { busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
  }

  #findShared(readOnly: boolean): SharedConnection | undefined {
    if (this.#shared.size === 0) return undefined;
    if (this.#pool.waitingCount > 0) return readOnly ? this.#keptForReads() : undefined;
    const activeSince = performance.now() - stalledMs;
    const limit = readOnly ? maxPending.reads : maxPending.writes;
    for (const connection of this.#shared) {
      const { acceptsQueries, pendingQueries, lastActiveMs } = connection;
      if (connection.readOnly === readOnly && acceptsQueries && pendingQueries < limit && lastActiveMs >= activeSince) return connection;
    }
    return undefined;
  }

  /**
   * While callers wait for the pool, all shared connections but one are released to them as soon as possible. Reads share that
   * one even if it is slow: they take no locks, so they wait only for each other.
   */
  #keptForReads(): SharedConnection | undefined {
    if (this.#pool.options.max < minToKeepOne) return undefined;
    const kept = [...this.#shared].find(({ readOnly }) => readOnly);
    return kept?.acceptsQueries && kept.pendingQueries < maxPending.reads ? kept : undefined;
  }

  #send(statements: Statement[], connection: SharedConnection, done: PipelinedQuery['callback']) {
    const query = new PipelinedQuery(statements, this.#pool.options.types, (error, rows) => {
      connection.pendingQueries--;
      connection.lastActiveMs = performance.now();
      if (connection.pendingQueries === 0) {
        this.#shared.delete(connection);
        connection.client.release(error !== null && query.preparesStatements);
      }
      done(error, rows);
    });
    connection.pendingQueries++;
    if (!connection.isCorked) corkForThisTurn(connection);
    connection.client.query(query);
    if (query.preparesStatements) connection.acceptsQueries = false;
  }
}

function corkForThisTurn(connection: SharedConnection) {
  connection.isCorked = true;
  connection.socket.cork();
  setImmediate(() => {
    connection.isCorked = false;
    connection.socket.uncork();
  });
}

export function socketOf(client: pg.PoolClient): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}
