// Compares two ways to run the queries of concurrent callers: over shared connections, as the service does, and over one
// connection per query.
//   .ci/with-postgres npm run bench:connections
import pg from 'pg';
import { ConnectionMultiplexer, type Pool } from '../../src/db/multiplexer.ts';
import { PipelinedQuery } from '../../src/db/pipelined-query.ts';
import type { Statement } from '../../src/db/statement.ts';
import { serviceUrl } from '../support/database-url.ts';
import { sql } from '../support/statement.ts';
import { median } from './median.ts';
import { seed } from './seed.ts';
import { withDatabase } from './with-database.ts';

type Run = (statements: Statement[]) => Promise<unknown>;

const callers = 16;
const poolSize = 10;
const rounds = 9;
const roundMs = 1000;
let counter = 0;

await withDatabase('bench_connections', async (url) => {
  const { userId, websiteId } = await seed(url);
  const pools = [createPool(url), createPool(url)] as const;
  const multiplexer = new ConnectionMultiplexer(pools[0], undefined);
  const shared: Run = (statements) => multiplexer.run(statements);
  const own: Run = (statements) => runOnOwnConnection(pools[1], statements);
  const cases: Record<string, () => Statement> = {
    'read a row': () => sql('select * from websites where id = $1', [websiteId]),
    'read 25 rows': () => sql('select * from websites order by id desc limit 25'),
    'insert a row': () => sql('insert into websites (user_id, domain) values ($1, $2)', [userId, `new-${++counter}.example.com`]),
    'update a row': () => sql('update websites set favorite = not favorite where id = $1', [websiteId]),
  };
  console.log('| queries per second | shared ÷ one connection per query | lowest to highest |\n|---|---|---|');
  for (const [name, createStatement] of Object.entries(cases)) {
    const measure = (run: Run) => queriesPerSecond(() => run([sql('select set_user_id($1)', [userId]), createStatement()]));
    const ratios: number[] = [];
    for (let round = 0; round <= rounds; round++) {
      const ratio = (await measure(shared)) / (await measure(own));
      if (round > 0) ratios.push(ratio); // Round 0 is the warm-up.
    }
    console.log(`| ${name} | ${median(ratios).toFixed(2)} | ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)} |`);
  }
  for (const pool of pools) await pool.end();
});

function createPool(url: string): Pool {
  const types = new pg.TypeOverrides();
  const config = { connectionString: serviceUrl(url), options: '-c role=sitekeeper_app', max: poolSize, pipeline: true, types };
  const pool = new pg.Pool(config);
  pool.on('error', () => {}); // Dropping the database terminates connections that are still being closed.
  return pool as Pool;
}

function runOnOwnConnection(pool: Pool, statements: Statement[]): Promise<unknown> {
  return new Promise((resolve, reject) => {
    pool.connect((failed, client) => {
      if (failed || !client) return reject(failed);
      const query = new PipelinedQuery(statements, pool.options.types, (error, rows) => {
        client.release(error !== null);
        if (error) reject(error);
        else resolve(rows);
      });
      const socket = client.connection.stream;
      socket.cork(); // As shared connections do: the messages of a query leave in one packet.
      client.query(query);
      socket.uncork();
    });
  });
}

async function queriesPerSecond(query: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  let queries = 0;
  const call = async () => {
    for (; performance.now() - start < roundMs; queries++) await query();
  };
  await Promise.all(Array.from({ length: callers }, call));
  return (queries / (performance.now() - start)) * 1000;
}
