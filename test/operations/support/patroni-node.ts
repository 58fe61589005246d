import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { childrenOf, newestBin, prepareUser, signalIfRunning } from '../../faults/support/postgres.ts';
import type { RunningProcess } from '../../support/process.ts';

interface NodeOptions {
  name: string;
  folder: string;
  etcdPort: number;
  port: number;
  restPort: number;
  /** Runs a program as a user who can run PostgreSQL. */
  run(program: string, ...args: string[]): RunningProcess;
}

/** A PostgreSQL server that Patroni runs. */
export class PatroniNode {
  readonly name: string;
  readonly port: number;
  readonly restPort: number;
  readonly #options: NodeOptions;
  readonly #data: string;
  #patroni: RunningProcess | undefined;

  private constructor(options: NodeOptions) {
    this.#options = options;
    this.name = options.name;
    this.port = options.port;
    this.restPort = options.restPort;
    this.#data = join(options.folder, 'data');
  }

  static async create(options: NodeOptions): Promise<PatroniNode> {
    await mkdir(options.folder);
    await prepareUser(options.folder);
    const node = new PatroniNode(options);
    await writeFile(join(options.folder, 'patroni.json'), JSON.stringify(node.#settings()));
    return node;
  }

  /** Starts Patroni, which starts PostgreSQL: as a replica if there is a primary. */
  start() {
    this.#patroni = this.#options.run('patroni', join(this.#options.folder, 'patroni.json'));
  }

  /** Kills Patroni and every process of PostgreSQL, as if the machine had lost its power. */
  async kill() {
    this.freeze(); // None of them can act on the end of another one.
    this.#signal('SIGKILL');
    await this.#patroni?.ended;
  }

  /** Suspends all its processes. The sockets stay open. */
  freeze() {
    this.#signal('SIGSTOP');
  }

  thaw() {
    this.#signal('SIGCONT');
  }

  /** Runs a statement as a superuser. */
  async query<Row extends object>(sql: string, database = 'postgres'): Promise<Row[]> {
    const client = new pg.Client({
      ...{ host: '127.0.0.1', port: this.port, user: 'postgres', database },
      ...{ connectionTimeoutMillis: 2000, query_timeout: 3000 },
    });
    client.on('error', () => {});
    try {
      await client.connect();
      return (await client.query<Row>(sql)).rows;
    } finally {
      client.end().catch(() => {});
    }
  }

  #signal(signal: NodeJS.Signals) {
    const main = Number(readFileSync(join(this.#data, 'postmaster.pid'), 'utf8').split('\n')[0]);
    signalIfRunning(this.#patroni?.child.pid ?? main, signal);
    // While the main process is suspended, it starts no child and reaps none.
    const children = childrenOf(main);
    if (signal === 'SIGSTOP') signalIfRunning(main, signal);
    for (const child of new Set([...children, ...childrenOf(main)])) signalIfRunning(child, signal);
    if (signal !== 'SIGSTOP') signalIfRunning(main, signal);
  }

  #settings() {
    const { name, folder, port, restPort, etcdPort } = this.#options;
    const address = `127.0.0.1:${port}`;
    const restAddress = `127.0.0.1:${restPort}`;
    return {
      scope: 'sitekeeper',
      name,
      restapi: { listen: restAddress, connect_address: restAddress },
      etcd3: { host: `127.0.0.1:${etcdPort}` },
      bootstrap: {
        dcs: {
          // A primary that is not heard of for `ttl` seconds is replaced. Newer versions of Patroni raise this to 20.
          ttl: 10,
          loop_wait: 2,
          retry_timeout: 4,
          // A write is acknowledged once a second node has it, and only that node can become the primary. In strict mode
          // writes wait while there is no second node.
          synchronous_mode: true,
          synchronous_mode_strict: true,
          postgresql: {
            use_pg_rewind: true,
            parameters: {
              max_connections: 100,
              // After a failover the third node would follow the new primary only after 5 seconds.
              wal_retrieve_retry_interval: '1s',
              wal_keep_size: '512MB',
              // Processes are killed here, not machines: what was written to a file is not lost.
              fsync: 'off',
              unix_socket_directories: '',
            },
          },
        },
        initdb: [{ encoding: 'UTF8' }, 'data-checksums', 'no-sync'],
      },
      postgresql: {
        listen: address,
        connect_address: address,
        data_dir: this.#data,
        bin_dir: newestBin(),
        pgpass: join(folder, 'pgpass'),
        authentication: { superuser: { username: 'postgres' }, replication: { username: 'replicator' } },
        pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
        remove_data_directory_on_rewind_failure: true,
        remove_data_directory_on_diverged_timelines: true,
      },
    };
  }
}
