import type { PGlite, Results } from '@electric-sql/pglite';
import type { Logger } from 'pino';

/** How many rows of a table may be dead, and how long the WAL may be: while other calls run or wait, and while none does. */
const limits = {
  busy: { deadRows: 600, walBytes: 12 * 1024 * 1024 },
  idle: { deadRows: 100, walBytes: 4 * 1024 * 1024 },
};
/** PostgreSQL stops after two billion transactions, unless the rows of every table, also of the catalog, were frozen since. */
const maxAge = 20_000_000;
/** A run starts after this many calls, so that it has little to do even if they are fast. */
const callsPerRun = 100;
/** A run also starts when there was no call for this long. */
const idleMs = 500;

/** Keeps two segments of the WAL, of 16 MB each, after a checkpoint. More would be kept for a load that PGlite cannot have. */
export const walParameters = ['-c', 'min_wal_size=32MB', '-c', 'max_wal_size=32MB'];

/** Lets the role of the service run the statements of the maintenance. Requests cannot: they begin with no permitted word. */
export const maintenanceGrants = 'grant pg_maintain, pg_checkpoint to sitekeeper_app with inherit true, set false;';

/**
 * The WAL since the last checkpoint, the tables that were not frozen for many transactions, and the dead rows of each table. A
 * TOAST table is named by the table that it belongs to.
 */
const measure = `
  select pg_stat_force_next_flush()::text as target, 0::float8 as "deadRows", 0::float8 as age,
         (pg_current_wal_lsn() - redo_lsn)::float8 as "walBytes" from pg_control_checkpoint()
  union all
  select '(freeze) ' || oid::regclass, 0, age(relfrozenxid)::float8, 0
    from pg_class where relkind = 'r' and age(relfrozenxid) >= ${maxAge}
  union all
  select coalesce('(process_main false) ' || owner.oid::regclass, '(process_toast false) ' || pg_class.oid::regclass),
         pg_stat_get_dead_tuples(pg_class.oid), 0, 0
    from pg_class left join pg_class owner on owner.reltoastrelid = pg_class.oid
   where pg_class.relkind in ('r', 't') and pg_stat_get_dead_tuples(pg_class.oid) >= ${limits.idle.deadRows}`;

interface Growth {
  target: string;
  deadRows: number;
  age: number;
  walBytes: number;
}

/**
 * Vacuums the embedded database and writes checkpoints, because PGlite lacks the background processes that do so. Each statement
 * blocks this process, so it does little: one table, or its TOAST table, soon after its rows have died. Calls that wait are
 * served before the next one. `exec` is PGlite's method without the restrictions of the session. Resolves after the first run,
 * which cleans up what an earlier process has left. Returns a function that stops after the current statement.
 */
export async function startMaintenance(pglite: PGlite, exec: PGlite['exec'], log: Logger): Promise<() => Promise<void>> {
  let calls = 0;
  let pending = 0;
  let isStopped = false;
  let running: Promise<void> | undefined;

  const start = () => {
    if (running || isStopped) return;
    calls = 0;
    running = run().finally(() => {
      running = undefined;
    });
  };
  const idleTimer = setTimeout(start, idleMs).unref();
  watchCalls(pglite, {
    onStart: () => pending++,
    onEnd() {
      pending--;
      if (running) return; // These calls include those of the run itself.
      if (++calls >= callsPerRun) start();
      else idleTimer.refresh();
    },
  });

  async function run() {
    try {
      for (const growth of await measureGrowth(exec)) {
        const statement = isStopped ? undefined : chooseStatement(growth, pending === 0 ? limits.idle : limits.busy);
        if (!statement) continue;
        const startMs = performance.now();
        await exec(statement);
        log.debug({ ...growth, ms: Math.round(performance.now() - startMs) }, `Embedded database: ${statement}`);
      }
    } catch (error) {
      log.warn({ err: error }, 'Maintaining the embedded database failed; it will be retried');
    }
  }

  start();
  await running;
  return async () => {
    isStopped = true;
    clearTimeout(idleTimer);
    await running;
  };
}

async function measureGrowth(exec: PGlite['exec']): Promise<Growth[]> {
  const [result] = (await exec(measure)) as [Results<Growth>];
  return result.rows;
}

function chooseStatement({ target, deadRows, age, walBytes }: Growth, limit: (typeof limits)['idle']): string | undefined {
  if (walBytes >= limit.walBytes) return 'checkpoint';
  return deadRows >= limit.deadRows || age >= maxAge ? `vacuum ${target}` : undefined;
}

/** Observes every call to PGlite that takes its turn on the only connection: queries, scripts and transactions. */
function watchCalls(pglite: PGlite, { onStart, onEnd }: { onStart(): void; onEnd(): void }) {
  const runExclusively = pglite._runExclusiveTransaction.bind(pglite);
  pglite._runExclusiveTransaction = (work) => {
    onStart();
    return runExclusively(work).finally(onEnd);
  };
}
