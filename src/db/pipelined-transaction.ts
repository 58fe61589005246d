import type { Pool } from './multiplexer.ts';
import { PipelinedQuery } from './pipelined-query.ts';
import type { Query, Statement } from './statement.ts';

const begin: Statement = { text: 'begin', values: [] };
const commit: Statement = { text: 'commit', values: [] };
const rollback: Statement = { text: 'rollback', values: [] };

/**
 * A transaction with few round trips: it begins together with its first statements, and each text is prepared once per connection.
 * `first` are statements that it starts with. If `work` runs none, nothing is sent.
 */
export async function pipelinedTransaction<T>(pool: Pool, first: Statement[], work: (query: Query) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  const opening = [begin, ...first];
  let isUsable = true;

  function send(statements: Statement[]): Promise<unknown[][]> {
    return new Promise((resolve, reject) => {
      const query = new PipelinedQuery(statements, pool.options.types, (error, rows = []) => {
        if (!error) return resolve(rows);
        if (query.preparesStatements) isUsable = false; // It is unknown which statements the connection has.
        reject(error);
      });
      const { stream } = client.connection;
      stream.cork(); // All messages leave in one packet.
      client.query(query);
      stream.uncork();
    });
  }

  try {
    const result = await work(async (...statements) => {
      const start = opening.splice(0);
      return (await send([...start, ...statements])).slice(start.length) as never;
    });
    if (opening.length === 0) await send([commit]);
    return result;
  } catch (error) {
    if (opening.length === 0) {
      await send([rollback]).catch(() => {
        isUsable = false;
      });
    }
    throw error;
  } finally {
    client.release(!isUsable);
  }
}
