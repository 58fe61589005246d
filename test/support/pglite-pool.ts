import { readFile } from 'node:fs/promises';
import type { PGlite } from '@electric-sql/pglite';
import { startPglite } from '../../src/db/embedded.ts';

/** The migrated, empty databases of this worker that no test uses. Starting one takes 20 times as long as emptying one. */
const idle: PGlite[] = [];

/** Returns a migrated, empty PGlite. Closing it empties it for the next test. */
export async function borrowPglite(snapshot: string): Promise<PGlite> {
  const pglite = idle.pop() ?? (await startPglite({ loadDataDir: new Blob([await readFile(snapshot)]) }));
  return borrowed(pglite);
}

/**
 * Methods that a borrower replaces are restored when it closes the database. After that its object fails like a PGlite that is
 * really closed: a test that goes on using its database must not see the rows of the next test.
 */
function borrowed(pglite: PGlite): PGlite {
  const replaced = new Map<PropertyKey, unknown>();
  let closed = false;
  const close = async () => {
    if (closed) throw new Error('PGlite is closed');
    closed = true;
    await empty(pglite);
    idle.push(pglite);
  };
  return new Proxy(pglite, {
    get(target, name) {
      if (name === 'close') return close;
      if (name === 'closed') return closed;
      const value = replaced.get(name) ?? Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        if (closed) throw new Error('PGlite is closed');
        return Reflect.apply(value, target, args);
      };
    },
    set(target, name, value) {
      if (typeof value !== 'function') return Reflect.set(target, name, value, target);
      replaced.set(name, value);
      return true;
    },
  });
}

async function empty(pglite: PGlite): Promise<void> {
  await pglite.exec('set session authorization postgres; set role none; reset all; unlisten *');
  const { rows } = await pglite.query<{ names: string }>(`
    select string_agg(format('%I', relname), ', ') as names from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname not like 'migration%'
  `);
  await pglite.exec(`truncate ${rows[0]?.names} restart identity cascade`);
}
