import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite, type PGliteOptions, types } from '@electric-sql/pglite';
import { dataDir as freshCluster } from '@electric-sql/pglite-prepopulatedfs';
import { Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/pglite';
import { lockFolder } from './data-folder.ts';
import { type Database, type Entities, openAs } from './database.ts';
import { type MigrationPlan, migrate, migrationSettings, planMigrations } from './migrate.ts';
import { watchForPanic } from './panic.ts';

/**
 * PostgreSQL inside this process with its files in `folder`, migrated and ready to serve. It writes without fsync: safe
 * against a killed process, not against a power failure. `onPanic` hears that it has given up for good.
 */
export async function openEmbedded(folder: string, entities: Entities, onPanic: (error: Error) => void): Promise<Database> {
  const unlock = lockFolder(folder);
  const { dataDir, unfinished } = filesIn(folder);
  if (existsSync(unfinished)) rmSync(dataDir, { recursive: true, force: true });
  if (!existsSync(dataDir)) writeFileSync(unfinished, '');
  const pglite = await start(dataDir);
  const hasPanicked = watchForPanic(pglite, onPanic);
  await migrateEmbedded(pglite);
  rmSync(unfinished, { force: true });
  return serveFrom(pglite, entities, { unlock, isLost: hasPanicked });
}

/** A first start that was broken off leaves files that nobody can start from, and nothing of anybody's. */
function filesIn(folder: string) {
  return { dataDir: join(folder, 'postgres'), unfinished: join(folder, 'unfinished') };
}

async function start(dataDir: string): Promise<PGlite> {
  try {
    // A ready-made cluster saves the seconds that initdb takes.
    return await startPglite(existsSync(dataDir) ? { dataDir } : { dataDir, loadDataDir: await freshCluster() });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`The embedded database in ${dataDir} does not start. Is the disk full? It says: ${why}`, { cause: error });
  }
}

/** With a quarter of the usual buffers: it starts in half the time, in 100 MB less, and reads as fast from the files. */
export function startPglite(options: PGliteOptions): Promise<PGlite> {
  return PGlite.create({ ...options, startParams: [...PGlite.defaultStartParams, '-c', 'shared_buffers=32MB'] });
}

/** Serves from a migrated PGlite that is this process's alone. */
export async function serveFrom(
  pglite: PGlite,
  entities: Entities,
  { unlock = () => {}, isLost = (): boolean => false } = {},
): Promise<Database> {
  await forgetStrangeTypes(pglite);
  // PGlite's own session is a superuser, whom no policy binds.
  await pglite.exec(`
    do $$ begin
      if not exists (select from pg_roles where rolname = 'sitekeeper_service') then
        create role sitekeeper_service nologin noinherit in role sitekeeper_app, sitekeeper_engine;
      end if;
    end $$;
    set session authorization sitekeeper_service;
    set role sitekeeper_app;
  `);
  const orm = await MikroORM.init({ entities, dbName: 'postgres', driverOptions: { pglite: () => pglite } });
  return openAs(orm, {
    // There is no other process, and no connection that could be lost.
    listen: (channel, listener) => pglite.listen(channel, (payload) => listener.onNotice(payload)),
    ask: (statements) =>
      pglite.transaction(async (transaction) => {
        const rows: unknown[][] = [];
        for (const { text, values } of statements) rows.push((await transaction.query(text, [...values])).rows);
        return rows;
      }),
    // Its one connection never waits for another process; what waits, waits inside this one.
    connections: () => ({ busy: 0, idle: 1, waiting: 0 }),
    isLost,
    async close() {
      await pglite.close();
      unlock();
    },
  });
}

/**
 * PGlite copies its table of parsers for each statement, and most of them are for arrays of rows, one for each table of the
 * catalogue. With none but its own and those of our columns, a statement takes little more than half the time.
 */
async function forgetStrangeTypes(pglite: PGlite) {
  const { rows } = await pglite.query<{ oid: number }>(`
    select distinct atttypid as oid from pg_attribute join pg_class on pg_class.oid = attrelid
     where relnamespace = 'public'::regnamespace
  `);
  const kept = new Set([...Object.keys(types.parsers), ...rows.map(({ oid }) => String(oid))]);
  pglite.parsers = Object.fromEntries(Object.entries(pglite.parsers).filter(([oid]) => kept.has(oid)));
}

export async function migrateEmbedded(pglite: PGlite): Promise<string[]> {
  const orm = await MikroORM.init({
    entities: [],
    discovery: { warnWhenNoEntities: false },
    dbName: 'postgres',
    driverOptions: { pglite: () => pglite },
    extensions: [Migrator],
    migrations: migrationSettings(),
  });
  try {
    return await migrate(orm);
  } finally {
    await orm.close();
  }
}

/** A folder that holds no database yet is left as it is. */
export async function planEmbedded(folder: string): Promise<MigrationPlan> {
  const { dataDir, unfinished } = filesIn(folder);
  if (!existsSync(dataDir) || existsSync(unfinished)) return planMigrations(async () => ({ rows: [] }));
  const unlock = lockFolder(folder);
  const pglite = await start(dataDir);
  try {
    return await planMigrations((sql) => pglite.query<object>(sql));
  } finally {
    await pglite.close();
    unlock();
  }
}
