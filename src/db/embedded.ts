import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite, type PGliteOptions, types } from '@electric-sql/pglite';
import { Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/pglite';
import type { Logger } from 'pino';
import { OperatorError } from '../errors.ts';
import { copyRunningCluster, dropUnfinishedBackup } from './backup.ts';
import { lockDirectory } from './data-directory.ts';
import { type Database, type Entities, openDatabaseOn } from './database.ts';
import { DirectoryError, explainDirectoryError, explainOpenError } from './directory-error.ts';
import { unpackFreshCluster } from './fresh-cluster.ts';
import { startMaintenance, walParameters } from './maintenance.ts';
import { assertEnoughMemory } from './memory.ts';
import { type MigrationPlan, migrate, migrationSettings, planMigrations } from './migrate.ts';
import { watchForPanic } from './panic.ts';
import { parseTime } from './parse-time.ts';
import { compilePglite } from './pglite-module.ts';
import { restrictSession } from './restricted-session.ts';

interface EmbeddedOptions {
  /** Called when the database has crashed for good. */
  onPanic?(error: Error): void;
  /** With a log, the database is maintained. */
  log?: Logger | undefined;
  /** Whether a database that does not exist is an error. Otherwise it is created. */
  mustExist?: boolean | undefined;
}

/**
 * Opens PostgreSQL inside this process with its files in `folder`, and migrates it. It writes without fsync: data survives a
 * killed process, but recent writes may be lost in a power failure.
 */
export async function openEmbedded(folder: string, entities: Entities, options: EmbeddedOptions = {}): Promise<Database> {
  assertEnoughMemory();
  const { dataDir, unfinished } = filesIn(folder);
  if (options.mustExist && !existsSync(folder)) throw missing(folder);
  const unlock = lockDirectory(folder);
  let reportPanic: EmbeddedOptions['onPanic']; // Until it is open, an error is thrown instead.
  try {
    // A service that is creating the database holds the lock, so this is not checked earlier.
    if (options.mustExist && !hasDatabase(folder)) throw missing(folder);
    rejectMoved(folder);
    // An interrupted first start leaves files that PostgreSQL cannot open. They contain no data yet, so they are deleted.
    if (existsSync(unfinished)) rmSync(dataDir, { recursive: true, force: true });
    if (!existsSync(dataDir)) writeFileSync(unfinished, '');
    const pglite = await start(folder);
    const hasCrashed = watchForPanic(pglite, folder, (error) => reportPanic?.(error));
    await migrateEmbedded(pglite);
    await dropTemplates(pglite);
    rmSync(unfinished, { force: true });
    const database = await openOnPglite(pglite, entities, { unlock, hasCrashed, log: options.log });
    reportPanic = options.onPanic;
    return database;
  } catch (error) {
    unlock();
    throw explainDirectoryError(folder, error) ?? error;
  }
}

function filesIn(folder: string) {
  return { dataDir: join(folder, 'postgres'), unfinished: join(folder, 'unfinished'), moved: join(folder, 'moved') };
}

/** Keeps a service from starting on a database that was moved: it would run checks and send alerts a second time. */
export function markAsMoved(folder: string): void {
  writeFileSync(filesIn(folder).moved, '');
}

function rejectMoved(folder: string): void {
  if (!existsSync(filesIn(folder).moved)) return;
  const advice = 'Set DATABASE_URL to that server. To use the directory again, delete its file "moved".';
  throw new DirectoryError(folder, 'contains a database that was moved to a PostgreSQL server', advice);
}

/**
 * Drops the databases that new ones would be copied from. Nobody vacuums them, so that PostgreSQL would stop after two billion
 * transactions. They also take a third of the space of a new database.
 */
async function dropTemplates(pglite: PGlite): Promise<void> {
  const { rows } = await pglite.query<{ datname: string }>(`select datname from pg_database where datname in ('template0', 'template1')`);
  if (rows.length === 0) return;
  await pglite.exec('update pg_database set datistemplate = false');
  for (const { datname } of rows) await pglite.exec(`drop database ${datname}`);
}

async function start(folder: string): Promise<PGlite> {
  const { dataDir } = filesIn(folder);
  try {
    if (!existsSync(dataDir)) unpackFreshCluster(dataDir);
    return await startPglite({ dataDir });
  } catch (error) {
    throw explainOpenError(folder, error);
  }
}

/** A quarter of the default buffers halves the start time and saves 100 MB, and reads from the files are as fast. */
export async function startPglite(options: PGliteOptions): Promise<PGlite> {
  return PGlite.create({
    ...options,
    pgliteWasmModule: await compilePglite(),
    startParams: [...PGlite.defaultStartParams, '-c', 'shared_buffers=32MB', ...walParameters],
  });
}

/** Opens the database on a migrated PGlite that only this process uses. With a log, it is maintained. */
export async function openOnPglite(
  pglite: PGlite,
  entities: Entities,
  { unlock = () => {}, hasCrashed = () => false, log }: { unlock?(): void; hasCrashed?(): boolean; log?: Logger | undefined } = {},
): Promise<MovableDatabase> {
  await replaceParsers(pglite);
  await pglite.query(dropUnfinishedBackup);
  const exec = pglite.exec.bind(pglite);
  const superuserQuery = await restrictSession(pglite);
  const stopMaintenance = log && (await startMaintenance(pglite, exec, log));
  const orm = await MikroORM.init({ entities, dbName: 'postgres', driverOptions: { pglite: () => pglite } });
  const database = await openDatabaseOn(orm, {
    concurrency: 1,
    // There is no other process and no connection to lose, so there is never a gap.
    async listen(channel, listener) {
      await pglite.listen(channel, (payload) => listener.onNotification(payload));
    },
    query: (statements) =>
      pglite.transaction(async (transaction) => {
        const rows: unknown[][] = [];
        for (const { text, values } of statements) rows.push((await transaction.query(text, [...values])).rows);
        return rows;
      }),
    // PGlite has one connection and queues statements inside this process.
    connections: () => ({ busy: 0, idle: 1, waiting: 0 }),
    hasCrashed,
    async close() {
      await stopMaintenance?.();
      await pglite.close();
      unlock();
    },
  });
  return Object.assign(database, {
    async moveClock(ms: number) {
      await exec(`set app.clock_offset = '${ms} milliseconds'`);
      await database.readClock();
    },
    backup: (target: string, signal: AbortSignal) => copyRunningCluster(superuserQuery, { dataDir: pglite.dataDir ?? '', target, signal }),
  });
}

/** A database whose clock can be moved, for tests and for the mock. */
export interface MovableDatabase extends Database {
  /** Sets the difference between app_now() and now(). */
  moveClock(ms: number): Promise<void>;
}

/**
 * PGlite copies its table of parsers for each statement. Most of them parse arrays of catalog rows, which no statement of
 * ours returns. Without them a statement takes little more than half the time. Times are parsed as on PostgreSQL.
 */
async function replaceParsers(pglite: PGlite) {
  const { rows } = await pglite.query<{ oid: number }>(`
    select distinct atttypid as oid from pg_attribute join pg_class on pg_class.oid = attrelid
     where relnamespace = 'public'::regnamespace
  `);
  const kept = new Set([...Object.keys(types.parsers), ...rows.map(({ oid }) => String(oid))]);
  pglite.parsers = Object.fromEntries(Object.entries(pglite.parsers).filter(([oid]) => kept.has(oid)));
  pglite.parsers[types.TIMESTAMPTZ] = parseTime;
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

/** Opens and migrates an existing database with the rights of its owner, who sees the rows of all users. */
export async function openEmbeddedAsOwner(folder: string): Promise<{ pglite: PGlite; close(): Promise<void> }> {
  if (!hasDatabase(folder)) throw missing(folder);
  const unlock = lockDirectory(folder);
  const pglite = await start(folder);
  const close = async () => {
    await pglite.close();
    unlock();
  };
  try {
    await migrateEmbedded(pglite);
    return { pglite, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Whether the first start in a directory has finished. */
function hasDatabase(folder: string): boolean {
  const { dataDir, unfinished } = filesIn(folder);
  return existsSync(dataDir) && !existsSync(unfinished);
}

function missing(folder: string): OperatorError {
  return new OperatorError(
    `There is no embedded database in ${folder}. Set DATA_DIR to its directory, or DATABASE_URL if the service uses PostgreSQL.`,
  );
}

/** Returns the plan for the embedded database. If there is none yet, none is created. */
export async function planEmbedded(folder: string): Promise<MigrationPlan> {
  if (!hasDatabase(folder)) return planMigrations(async () => ({ rows: [] }));
  const unlock = lockDirectory(folder);
  const pglite = await start(folder);
  try {
    return await planMigrations((sql) => pglite.query<object>(sql));
  } finally {
    await pglite.close();
    unlock();
  }
}
