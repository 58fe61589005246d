import { Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import pg from 'pg';
import { loginOf } from '../config/postgres-url.ts';
import type { AvailabilityObserver } from './availability.ts';
import { closeWhenReadOnly, closeWhenSilent } from './close-connection.ts';
import { appRole, type Database, type Entities, openDatabaseOn } from './database.ts';
import { Hosts } from './hosts.ts';
import { NotificationConnection } from './listen.ts';
import { type MigrationPlan, migrate, migrationSettings, planMigrations } from './migrate.ts';
import { ConnectionMultiplexer, type Pool } from './multiplexer.ts';
import { parseTime } from './parse-time.ts';
import { pipelinedTransaction } from './pipelined-transaction.ts';
import { assertLoginExists, assertRestrictedLogin } from './restricted-login.ts';
import { queryInTransaction } from './statement.ts';
import { rejectUnfinishedMove } from './unfinished-move.ts';

/** The server cancels a statement, and ends an idle transaction, after this time. */
const timeoutSeconds = 15;
/** A server that sends nothing for longer is frozen or unreachable, and will not enforce its own timeouts. */
const silenceMs = (timeoutSeconds + 1) * 1000;

/** A smaller pool keeps no connection in reserve for reads. */
const minForReserve = 3;

/** Opens a migrated PostgreSQL server. Pooled connections start as sitekeeper_app. */
export async function openPostgres(
  url: string,
  entities: Entities,
  options: { poolSize: number; availability?: AvailabilityObserver },
): Promise<Database> {
  const reserved = options.poolSize >= minForReserve ? 1 : 0;
  let multiplexer: ConnectionMultiplexer | undefined;
  let pool: Pool | undefined;
  const hosts = new Hosts(url);
  const { address, options: urlOptions } = splitOptions(hosts.url);
  const orm = await MikroORM.init({
    entities,
    clientUrl: hosts.url,
    pool: { min: 0, max: options.poolSize - reserved },
    driverOptions: {
      Client: hosts.Client,
      connectionString: address, // The ORM drops query parameters such as sslmode.
      application_name: 'sitekeeper',
      pipeline: true,
      connectionTimeoutMillis: 5000,
      onPoolCreated(created: Pool) {
        // Ids are numbers, as in the embedded database: they stay below 2^53.
        created.options.types.setTypeParser(pg.types.builtins.INT8, Number);
        created.options.types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, parseTime);
        const reserve = reserved > 0 ? (new pg.Pool({ ...created.options, max: reserved }) as Pool) : undefined;
        for (const pool of reserve ? [created, reserve] : [created]) {
          pool.on('connect', closeWhenUseless);
          reclaimLostConnections(pool);
        }
        reserve?.on('error', () => {}); // The next read opens a new connection.
        multiplexer = new ConnectionMultiplexer(created, reserve);
        pool = created;
      },
      // Set in the startup packet rather than by a statement, so that RESET ALL restores these values. Parallel workers and
      // the JIT compiler are off, because starting them takes longer than reading the few rows that a statement concerns.
      options: `${urlOptions} -c role=${appRole} -c timezone=UTC -c statement_timeout=${timeoutSeconds}s -c idle_in_transaction_session_timeout=${timeoutSeconds}s -c max_parallel_workers_per_gather=0 -c jit=off`,
    },
  });
  const notifications = new NotificationConnection(hosts, options.availability);
  const database = await openDatabaseOn(orm, {
    concurrency: options.poolSize - reserved,
    listen: (channel, listener) => notifications.listen(channel, listener),
    query: (statements) => (multiplexer as ConnectionMultiplexer).run(statements),
    transaction: (first, work) => pipelinedTransaction(pool as Pool, first, work),
    availability: options.availability,
    connections: () => multiplexer?.connections() ?? { busy: 0, idle: 0, waiting: 0 },
    async close() {
      await Promise.all([notifications.close(), multiplexer?.close()]);
    },
  });
  try {
    await rejectUnfinishedMove((text) => orm.em.fork().execute(text));
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

/** Extracts the options of the URL, so that they can be placed before the options of the service instead of replacing them. */
function splitOptions(url: string): { address: string; options: string } {
  const address = new URL(url);
  const options = address.searchParams.get('options') ?? '';
  address.searchParams.delete('options');
  return { address: address.href, options };
}

/** Fails the pending queries of such a connection, so that the pool opens a new one. Idle connections are closed sooner. */
function closeWhenUseless(client: pg.PoolClient) {
  client.on('error', () => {}); // Without a listener, a lost connection that is in use would end the process.
  closeWhenSilent(client, silenceMs);
  closeWhenReadOnly(client);
}

/**
 * The query builder never releases a connection that is lost inside a transaction (kysely issue 1990). Without this the pool
 * would be full of dead connections after a restart of the server.
 */
function reclaimLostConnections(pool: pg.Pool) {
  const acquired = new Set<pg.PoolClient>();
  pool.on('acquire', (client) => acquired.add(client));
  pool.on('release', (_error, client) => acquired.delete(client));
  pool.on('connect', (client) =>
    client.once('end', () => {
      if (!acquired.has(client)) return;
      client.release(true);
      client.release = () => {}; // The holder may still release it.
    }),
  );
}

/**
 * Migrates as the owner and grants the service's login the roles it needs. Returns the names of the migrations that ran. Only the
 * move itself migrates a database into which a move is unfinished.
 */
export async function migratePostgres(ownerUrl: string, serviceUrl: string, names?: string[], { isMove = false } = {}): Promise<string[]> {
  const hosts = new Hosts(ownerUrl);
  const orm = await MikroORM.init({
    entities: [],
    discovery: { warnWhenNoEntities: false },
    clientUrl: hosts.url,
    pool: { min: 0, max: 2 },
    driverOptions: {
      Client: hosts.Client,
      connectionString: hosts.url,
      application_name: 'sitekeeper migrate',
      connectionTimeoutMillis: 5000,
      onPoolCreated: reclaimLostConnections,
    },
    extensions: [Migrator],
    migrations: migrationSettings(names),
  });
  try {
    // The lock serializes processes that start at the same time. It is held on a separate connection from the migrator's.
    return await orm.em.fork().transactional(async (lock) => {
      await lock.execute(`select pg_advisory_xact_lock(hashtext('sitekeeper migrations'))`);
      if (!isMove) await rejectUnfinishedMove((text) => lock.execute(text));
      const login = loginOf(serviceUrl);
      // The login is checked first, because a migration by the wrong role would leave tables that the right one does not own.
      if (login) {
        await assertLoginExists(queryInTransaction(lock), login);
        await assertRestrictedLogin(queryInTransaction(lock), login);
      }
      const done = await migrate(orm);
      if (login) await orm.em.fork().execute(`grant sitekeeper_app, sitekeeper_engine to ${orm.em.getPlatform().quoteIdentifier(login)}`);
      return done;
    });
  } finally {
    await orm.close();
  }
}

export async function planPostgres(ownerUrl: string): Promise<MigrationPlan> {
  const hosts = new Hosts(ownerUrl);
  const client = new hosts.Client({ connectionString: hosts.url, application_name: 'sitekeeper migrate', connectionTimeoutMillis: 5000 });
  try {
    await client.connect();
    return await planMigrations((sql) => client.query(sql));
  } finally {
    await client.end();
  }
}
