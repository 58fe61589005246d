import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { chown, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';

const execute = promisify(execFile);

/** A PostgreSQL server of the test's own, to do to it what must not be done to one that others use. */
export interface PostgresServer {
  /** As an ordinary role that may create databases and roles. */
  url: string;
  /** As a machine that loses power would. */
  crash(): Promise<void>;
  /** Resolves once it takes connections. */
  start(): Promise<void>;
  /** Every process of it stands still; the sockets stay open. */
  freeze(): void;
  thaw(): void;
  remove(): Promise<void>;
}

export async function createPostgres(): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'sitekeeper-postgres-'));
  const data = join(folder, 'data');
  const port = await freePort();
  const bin = newestBin();
  const asPostgres = await owner(folder);
  const run = (name: string, ...given: string[]) => {
    const [program = '', ...args] = [...asPostgres, join(bin, name), ...given];
    return execute(program, args, { cwd: folder });
  };
  const options = `-c listen_addresses=127.0.0.1 -p ${port} -c unix_socket_directories=${folder} -c fsync=off`;
  // Its output goes to a file, so that nobody waits for the server to close it.
  const start = async () => void (await run('pg_ctl', '-D', data, '-l', join(folder, 'log'), '-w', 'start', '-o', options));
  const crash = async () => void (await run('pg_ctl', '-D', data, '-m', 'immediate', '-w', 'stop'));
  const signal = (name: NodeJS.Signals) => {
    const [main] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
    for (const pid of [Number(main), ...childrenOf(Number(main))]) process.kill(pid, name);
  };

  await run('initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync');
  await start();
  const admin = new pg.Client({ connectionString: `postgres://postgres@127.0.0.1:${port}/postgres` });
  await admin.connect();
  await admin.query('create role sitekeeper_owner login createdb createrole');
  await admin.query('create database sitekeeper owner sitekeeper_owner');
  await admin.end();
  return {
    url: `postgres://sitekeeper_owner@127.0.0.1:${port}/sitekeeper`,
    crash,
    start,
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    async remove() {
      await crash().catch(() => {});
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function newestBin(): string {
  const root = '/usr/lib/postgresql';
  const [newest] = readdirSync(root).toSorted((a, b) => Number(b) - Number(a));
  return join(root, newest ?? '', 'bin');
}

/** PostgreSQL refuses to run as root: what is put in front of its programs, and the folder given away. */
async function owner(folder: string): Promise<string[]> {
  if (process.getuid?.() !== 0) return [];
  const [uid, gid] = await Promise.all(['-u', '-g'].map(async (what) => Number((await execute('id', [what, 'postgres'])).stdout)));
  await chown(folder, uid ?? 0, gid ?? 0);
  return ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'];
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
