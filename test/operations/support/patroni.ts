// Three PostgreSQL nodes with synchronous replication under Patroni, with etcd and HAProxy, on loopback.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { prepareUser } from '../../faults/support/postgres.ts';
import { createServiceLogin } from '../../support/database-url.ts';
import { collectOutput, type RunningProcess } from '../../support/process.ts';
import { PatroniNode } from './patroni-node.ts';
import { reservePorts } from './reserve-ports.ts';

/** Returns which of the necessary programs are not installed. */
export function findMissingPrograms(): string[] {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin'];
  const isInstalled = (program: string) => folders.some((folder) => existsSync(join(folder, program)));
  return ['patroni', 'etcd', 'haproxy', 'setpriv'].filter((program) => !isInstalled(program));
}

export class PatroniCluster {
  readonly nodes: PatroniNode[] = [];
  readonly #folder: string;
  readonly #asPostgres: string[];
  readonly #processes: RunningProcess[] = [];
  #proxyPort = 0;

  private constructor(folder: string, asPostgres: string[]) {
    this.#folder = folder;
    this.#asPostgres = asPostgres.length > 0 ? asPostgres : ['setpriv'];
  }

  static async create(): Promise<PatroniCluster> {
    const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-cluster-'));
    const cluster = new PatroniCluster(folder, await prepareUser(folder));
    try {
      await cluster.#start();
      return cluster;
    } catch (error) {
      const output = cluster.#processes.map(({ printed }) => printed().slice(-2000)).join('\n');
      await cluster.remove();
      throw new Error(`The cluster did not start:\n${output}`, { cause: error });
    }
  }

  /** The URLs of the service's login and of the database owner, through HAProxy or with all hosts. */
  urls(via: 'haproxy' | 'hosts'): { url: string; ownerUrl: string } {
    const hosts = via === 'haproxy' ? `127.0.0.1:${this.#proxyPort}` : this.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
    const urlOf = (login: string) => `postgres://${login}@${hosts}/sitekeeper?target_session_attrs=read-write`;
    return { url: urlOf('sitekeeper_login'), ownerUrl: urlOf('sitekeeper_owner') };
  }

  /** Resolves once a node, other than the given one, acknowledges a write. */
  async waitForPrimary(except?: PatroniNode): Promise<PatroniNode> {
    const candidates = this.nodes.filter((node) => node !== except);
    const write = (node: PatroniNode) => node.query(`select pg_logical_emit_message(true, 'test', 'write')`).then(() => node);
    return waitFor('a primary', 20, () => Promise.any(candidates.map(write)));
  }

  /** Resolves once a node, other than the given one, is no standby. In strict mode its writes still wait for a second node. */
  async waitForPromotion(except: PatroniNode): Promise<void> {
    await waitFor('a promotion', 20, async () => {
      const candidates = this.nodes.filter((node) => node !== except);
      await Promise.any(candidates.map((node) => node.query('select 1 / (not pg_is_in_recovery())::int')));
    });
  }

  /** Resolves once two nodes replicate from the third, one of them synchronously. */
  async waitUntilComplete(): Promise<void> {
    const read = (node: PatroniNode) =>
      node.query<{ state: string }>(`select sync_state as state from pg_stat_replication where state = 'streaming' order by 1`);
    await waitFor('two replicas', 200, async () => {
      const states = (await Promise.all(this.nodes.map(read))).flat().map(({ state }) => state);
      if (states.join() !== 'async,sync') throw new Error(`Replicas: ${states}`);
    });
  }

  async remove() {
    for (const node of this.nodes) await node.kill().catch(() => {}); // It may not have started, or is dead already.
    for (const { child, ended } of this.#processes) {
      child.kill('SIGKILL');
      await ended;
    }
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #start() {
    const [etcdPort = 0, peerPort = 0, proxyPort = 0, ...ports] = await reservePorts(9);
    this.#proxyPort = proxyPort;
    this.#startEtcd(`http://127.0.0.1:${etcdPort}`, `http://127.0.0.1:${peerPort}`);
    const run = this.#run.bind(this);
    for (const name of ['node1', 'node2', 'node3']) {
      const [port = 0, restPort = 0] = ports.splice(0, 2);
      this.nodes.push(await PatroniNode.create({ name, folder: join(this.#folder, name), etcdPort, port, restPort, run }));
    }
    const proxyConfig = join(this.#folder, 'haproxy.cfg');
    await writeFile(proxyConfig, await createProxyConfig(proxyPort, this.nodes));
    run('haproxy', '-db', '-f', proxyConfig);
    for (const node of this.nodes) node.start();
    await this.waitUntilComplete();
    await createLogins(await this.waitForPrimary());
  }

  #startEtcd(clientUrl: string, peerUrl: string) {
    this.#run(
      'etcd',
      ...['--data-dir', join(this.#folder, 'etcd'), '--logger', 'zap', '--log-level', 'error'],
      ...['--listen-client-urls', clientUrl, '--advertise-client-urls', clientUrl],
      ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl, '--initial-cluster', `default=${peerUrl}`],
    );
  }

  /** The program gets SIGTERM when this process ends. */
  #run(program: string, ...args: string[]): RunningProcess {
    const [command = '', ...rest] = [...this.#asPostgres, '--pdeathsig', 'TERM', program, ...args];
    const env = { PATH: `${process.env.PATH}:/usr/sbin`, HOME: this.#folder, LC_ALL: 'C.UTF-8' };
    const running = collectOutput(spawn(command, rest, { cwd: this.#folder, env, stdio: ['ignore', 'pipe', 'pipe'] }));
    this.#processes.push(running);
    return running;
  }
}

/** Returns the operators' configuration with the ports of this cluster. */
async function createProxyConfig(port: number, nodes: PatroniNode[]): Promise<string> {
  const [before] = (await readFile('deploy/haproxy.cfg', 'utf8')).split(/^ *server /m);
  const servers = nodes.map((node) => `  server ${node.name} 127.0.0.1:${node.port} port ${node.restPort}\n`);
  return `${before?.replace('bind 127.0.0.1:5000', `bind 127.0.0.1:${port}`)}${servers.join('')}`;
}

async function createLogins({ port }: PatroniNode) {
  const admin = new pg.Client({ connectionString: `postgres://postgres@127.0.0.1:${port}/postgres` });
  await admin.connect();
  await admin.query('create role sitekeeper_owner login createdb createrole');
  await createServiceLogin(admin, `postgres://sitekeeper_owner@127.0.0.1:${port}/sitekeeper`);
  await admin.query('create database sitekeeper owner sitekeeper_owner');
  await admin.end();
}

/** Repeats an attempt until it succeeds, for at most two minutes. */
async function waitFor<T>(what: string, pauseMs: number, attempt: () => Promise<T>): Promise<T> {
  const end = performance.now() + 120_000;
  for (;;) {
    try {
      return await attempt();
    } catch (cause) {
      if (performance.now() > end) throw new Error(`There is no sign of ${what}.`, { cause });
      await delay(pauseMs);
    }
  }
}
