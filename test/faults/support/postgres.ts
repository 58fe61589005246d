import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { chown, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { createServiceLogin, serviceUrl } from '../../support/database-url.ts';
import { freePort } from '../../support/free-port.ts';

const execute = promisify(execFile);

/** A PostgreSQL server for one test file, so that crashing it does not disturb other tests. */
export interface PostgresServer {
  /** The login of the service. */
  url: string;
  /** The login of the database owner, who is not a superuser, but can create databases and roles. */
  ownerUrl: string;
  /** Stops it without a checkpoint, as a power failure would. */
  crash(): Promise<void>;
  /** Resolves once it accepts connections. */
  start(): Promise<void>;
  /** Suspends all its processes. The sockets stay open. */
  freeze(): void;
  thaw(): void;
  remove(): Promise<void>;
}

/** Creates the server, and on it a database as a superuser with this URL would. */
export async function createPostgres(createDatabase = createRolesAndDatabase): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'sitekeeper-postgres-'));
  const data = join(folder, 'data');
  const port = await freePort();
  const bin = newestBin();
  const asPostgres = await prepareUser(folder);
  const run = (name: string, ...options: string[]) => {
    const [program = '', ...args] = [...asPostgres, join(bin, name), ...options];
    return execute(program, args, { cwd: folder });
  };
  const serverOptions = `-c listen_addresses=127.0.0.1 -p ${port} -c unix_socket_directories=${folder} -c fsync=off`;
  // The output goes to a file. With a pipe, execFile would wait until the server closes it.
  const start = async () => void (await run('pg_ctl', '-D', data, '-l', join(folder, 'log'), '-w', 'start', '-o', serverOptions));
  const crash = async () => void (await run('pg_ctl', '-D', data, '-m', 'immediate', '-w', 'stop'));
  const mainProcess = () => Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);

  await run('initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync');
  await start();
  const ownerUrl = `postgres://sitekeeper_owner@127.0.0.1:${port}/sitekeeper`;
  await createDatabase(`postgres://postgres@127.0.0.1:${port}/postgres`, ownerUrl);
  return {
    url: serviceUrl(ownerUrl),
    ownerUrl,
    crash,
    start,
    // The main process is stopped first and continued last. While it is stopped, it starts no child and reaps none.
    freeze() {
      const main = mainProcess();
      process.kill(main, 'SIGSTOP');
      for (const child of childrenOf(main)) signalIfRunning(child, 'SIGSTOP');
    },
    thaw() {
      const main = mainProcess();
      for (const child of childrenOf(main)) signalIfRunning(child, 'SIGCONT');
      process.kill(main, 'SIGCONT');
    },
    async remove() {
      await crash().catch(() => {});
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function createRolesAndDatabase(superuserUrl: string, ownerUrl: string): Promise<void> {
  const admin = new pg.Client({ connectionString: superuserUrl });
  await admin.connect();
  await admin.query('create role sitekeeper_owner login createdb createrole');
  await createServiceLogin(admin, ownerUrl);
  await admin.query('create database sitekeeper owner sitekeeper_owner');
  await admin.end();
}

/** Returns the folder of the newest installed PostgreSQL's programs. */
export function newestBin(): string {
  const root = '/usr/lib/postgresql';
  const [newest] = readdirSync(root).toSorted((a, b) => Number(b) - Number(a));
  return join(root, newest ?? '', 'bin');
}

/**
 * PostgreSQL does not run as root. If we are root, the user postgres gets the folder. Returns the command that runs a program
 * as that user.
 */
export async function prepareUser(folder: string): Promise<string[]> {
  if (process.getuid?.() !== 0) return [];
  const [uid, gid] = await Promise.all(['-u', '-g'].map(async (option) => Number((await execute('id', [option, 'postgres'])).stdout)));
  await chown(folder, uid ?? 0, gid ?? 0);
  return ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'];
}

export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

/** A child can end between the moment it is listed and the moment it is signalled, an autovacuum worker for one. */
export function signalIfRunning(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
