import { Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import pg from 'pg';
import { type Database, type Entities, openAs } from './database.ts';
import { Lines, type Pool, socketOf } from './lines.ts';
import { type MigrationPlan, migrate, migrationSettings, planMigrations } from './migrate.ts';
import { listenOnPostgres } from './notices.ts';

/** The server ends a statement, or a transaction that does nothing, after this. */
const limitSeconds = 15;
/** One that is silent for longer is frozen or cut off, and will not end anything itself. */
const silenceMs = (limitSeconds + 1) * 1000;

/** A PostgreSQL server, already migrated. Every connection works as sitekeeper_app, whoever logged in. */
export async function openPostgres(url: string, entities: Entities, options: { poolSize: number }): Promise<Database> {
  let lines: Lines | undefined;
  const { address, options: theirs } = splitOptions(url);
  const orm = await MikroORM.init({
    entities,
    clientUrl: url,
    pool: { min: 0, max: options.poolSize },
    driverOptions: {
      connectionString: address, // the ORM leaves out what follows the ?, such as sslmode
      application_name: 'sitekeeper',
      pipeline: true,
      connectionTimeoutMillis: 5000,
      onPoolCreated(created: Pool) {
        lines = new Lines(created);
        // Ids are numbers, as the embedded database returns them: they stay below 2^53.
        created.options.types.setTypeParser(pg.types.builtins.INT8, Number);
        created.options.types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, parseTime);
        created.on('connect', endWhenSilent);
        takeBackLost(created);
      },
      // In the start-up packet rather than by a statement: even RESET ALL leads back to it. No parallel workers: for the
      // few rows of one user, starting them takes longer than the work.
      options: `${theirs} -c role=sitekeeper_app -c timezone=UTC -c statement_timeout=${limitSeconds}s -c idle_in_transaction_session_timeout=${limitSeconds}s -c max_parallel_workers_per_gather=0`,
    },
  });
  return openAs(orm, {
    listen: (channel, listener) => listenOnPostgres(url, channel, listener),
    ask: (statements) => (lines as Lines).run(statements),
    connections: () => lines?.connections() ?? { busy: 0, idle: 0, waiting: 0 },
  });
}

const parseAnyTime = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ);

/** Four digits of a year, and UTC: all but a few times look like that, and Node reads them much faster than the general parser. */
function parseTime(text: string): Date {
  return text[4] === '-' && text.endsWith('+00') ? new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`) : parseAnyTime(text);
}

/** Options in the address would take the place of ours. Put before them, they count where ours say nothing. */
function splitOptions(url: string): { address: string; options: string } {
  const address = new URL(url);
  const options = address.searchParams.get('options') ?? '';
  address.searchParams.delete('options');
  return { address: address.href, options };
}

/** Whoever waits for an answer gets an error instead, and the pool a new connection. Idle ones leave the pool sooner. */
function endWhenSilent(client: pg.PoolClient) {
  const socket = socketOf(client);
  socket.setTimeout(silenceMs, () => socket.destroy(new Error('Connection terminated: the database has fallen silent')));
}

/**
 * The query builder never gives back a connection that is lost in a transaction (kysely issue 1990), so that after a
 * restart of the server the pool would be full of dead ones.
 */
function takeBackLost(pool: pg.Pool) {
  const taken = new Set<pg.PoolClient>();
  pool.on('acquire', (client) => taken.add(client));
  pool.on('release', (_error, client) => taken.delete(client));
  pool.on('connect', (client) =>
    client.once('end', () => {
      if (!taken.has(client)) return;
      client.release(true);
      client.release = () => {}; // should its holder give it back after all
    }),
  );
}

/** Migrates as the owner, and lets the login that will serve take the roles that it needs. Returns what was run. */
export async function migratePostgres(ownerUrl: string, servingUrl: string, names?: string[]): Promise<string[]> {
  const orm = await MikroORM.init({
    entities: [],
    discovery: { warnWhenNoEntities: false },
    clientUrl: ownerUrl,
    pool: { min: 0, max: 2 },
    driverOptions: {
      connectionString: ownerUrl,
      application_name: 'sitekeeper migrate',
      connectionTimeoutMillis: 5000,
      onPoolCreated: takeBackLost,
    },
    extensions: [Migrator],
    migrations: migrationSettings(names),
  });
  try {
    // Processes that start together take turns. The lock sits on a connection of its own beside the migrator's.
    return await orm.em.fork().transactional(async (lock) => {
      await lock.execute(`select pg_advisory_xact_lock(hashtext('sitekeeper migrations'))`);
      const done = await migrate(orm);
      const login = decodeURIComponent(new URL(servingUrl).username);
      if (login) await orm.em.fork().execute(`grant sitekeeper_app, sitekeeper_engine to ${orm.em.getPlatform().quoteIdentifier(login)}`);
      return done;
    });
  } finally {
    await orm.close();
  }
}

export async function planPostgres(ownerUrl: string): Promise<MigrationPlan> {
  const client = new pg.Client({ connectionString: ownerUrl, application_name: 'sitekeeper migrate', connectionTimeoutMillis: 5000 });
  try {
    await client.connect();
    return await planMigrations((sql) => client.query(sql));
  } finally {
    await client.end();
  }
}
