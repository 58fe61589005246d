import type { Socket } from 'node:net';
import type pg from 'pg';
import { Batch } from './batch.ts';
import type { Connections } from './database.ts';
import type { Statement } from './statement.ts';

export type Pool = pg.Pool & { options: { types: pg.TypeOverrides } };

/** A connection that callers share while they come close together. */
interface Line {
  client: pg.PoolClient;
  socket: Socket;
  /** Whether what is sent is kept until this turn of the event loop is over, to go out in one piece. */
  isHeld: boolean;
  underWay: number;
  /** On the monotonic clock, when it was taken or last answered. */
  movedMs: number;
  /** Not while something is prepared on it: should that fail, what was sent behind it would fail, too. */
  isOpen: boolean;
  /** Writes wait for the disk, so reads do not wait behind them. */
  reads: boolean;
}

/** How many share a line. Fewer writes, because the disk takes several in one go, from one line each. */
const sharedBy = { reads: 8, writes: 4 };
/** A line that has not answered for longer is held up, and nobody else shall wait behind it. */
const movingMs = 5;

/**
 * Sends a caller's statements behind those of others, without waiting for their answers. Most of what a small statement
 * costs is waking the server's process up; callers that come at once wake up one. Each has a transaction of its own.
 */
export class Lines {
  readonly #pool: Pool;
  readonly #lines = new Set<Line>();

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  run(statements: Statement[]): Promise<unknown[][]> {
    return new Promise((resolve, reject) => {
      const done = (error: Error | null, rows: unknown[][] = []) => (error ? reject(error) : resolve(rows));
      const reads = statements.every(({ text }) => text.startsWith('select '));
      const moving = this.#findMoving(reads);
      if (moving) return this.#send(statements, moving, done);
      this.#pool.connect((failed, client) => {
        if (failed || !client) return reject(failed);
        const line = { client, socket: socketOf(client), isHeld: false, underWay: 0, movedMs: performance.now(), isOpen: true, reads };
        this.#lines.add(line);
        this.#send(statements, line, done);
      });
    });
  }

  connections(): Connections {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    return { busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
  }

  /** None while somebody waits for a connection: shared ones would never be given back. */
  #findMoving(reads: boolean): Line | undefined {
    if (this.#lines.size === 0 || this.#pool.waitingCount > 0) return undefined;
    const since = performance.now() - movingMs;
    const most = reads ? sharedBy.reads : sharedBy.writes;
    for (const line of this.#lines) {
      if (line.reads === reads && line.isOpen && line.underWay < most && line.movedMs >= since) return line;
    }
    return undefined;
  }

  #send(statements: Statement[], line: Line, done: Batch['callback']) {
    const batch = new Batch(statements, this.#pool.options.types, (error, rows) => {
      line.underWay--;
      line.movedMs = performance.now();
      if (line.underWay === 0) {
        this.#lines.delete(line);
        line.client.release(error !== null && batch.hasPrepared);
      }
      done(error, rows);
    });
    line.underWay++;
    if (!line.isHeld) hold(line);
    line.client.query(batch);
    if (batch.hasPrepared) line.isOpen = false;
  }
}

function hold(line: Line) {
  line.isHeld = true;
  line.socket.cork();
  setImmediate(() => {
    line.isHeld = false;
    line.socket.uncork();
  });
}

export function socketOf(client: pg.PoolClient): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}
