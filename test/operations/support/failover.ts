import { expect, vi } from 'vitest';
import { Deployment, type RunningService } from '../../faults/support/deployment.ts';
import type { RunningProcess } from '../../support/process.ts';
import { expectWithin, startStopwatch } from '../../support/stall.ts';
import { scripts, startWebServer, type WebServer } from '../../support/web-server.ts';
import { AcknowledgedWrites } from './acknowledged-writes.ts';
import { PatroniCluster } from './patroni.ts';
import type { PatroniNode } from './patroni-node.ts';

export type Route = Parameters<PatroniCluster['urls']>[0];

/** Few enough for the limit of 100 messages per hour, with two messages for each monitor and failover. */
const monitors = 6;
const eventually = <T>(check: () => T | Promise<T>) => vi.waitFor(check, { timeout: 120_000, interval: 100 });

/** A cluster with one serving process and one worker for each route, under load. */
export class FailoverTrial {
  readonly #cluster: PatroniCluster;
  readonly #target: WebServer;
  readonly #webhook: WebServer;
  readonly #deployment: Deployment;
  readonly #processes: RunningProcess[] = [];
  readonly #loads: AcknowledgedWrites[] = [];
  #failovers = 0;

  private constructor(cluster: PatroniCluster, target: WebServer, webhook: WebServer, deployment: Deployment) {
    this.#cluster = cluster;
    this.#target = target;
    this.#webhook = webhook;
    this.#deployment = deployment;
  }

  static async create(routes: [Route, Route]): Promise<FailoverTrial> {
    const cluster = await PatroniCluster.create();
    const [target, webhook] = await Promise.all([startWebServer(), startWebServer()]);
    const trial = new FailoverTrial(cluster, target, webhook, await Deployment.create({}));
    try {
      await trial.#start(routes);
      return trial;
    } catch (error) {
      await trial.remove();
      throw error;
    }
  }

  /**
   * Kills or freezes the primary while checks and writes are in progress. Expects that the service writes within 5 seconds of the
   * promotion. Resolves once the service has reported every incident
   * and every recovery, and the old primary is a replica.
   */
  async failOver(how: 'kill' | 'freeze'): Promise<string> {
    await this.#checkAll(503);
    const old = await this.#cluster.waitForPrimary();
    const lostMs = performance.now();
    await old[how]();
    const promotion = this.#cluster.waitForPromotion(old).then(() => performance.now());
    const primary = await this.#cluster.waitForPrimary(old);
    const writableMs = performance.now();
    const sinceWritable = startStopwatch();
    const promotedMs = await promotion;
    const acknowledgedMs = await Promise.all(
      this.#loads.map(async (load) => {
        const ms = await load.waitForAcknowledgement(lostMs, 60_000);
        expectWithin(5, sinceWritable());
        return ms;
      }),
    );

    if (how === 'kill') old.start();
    else old.thaw();
    await eventually(async () => expect(await this.#openIncidents(primary)).toBe(monitors));
    await this.#cluster.waitUntilComplete();
    await this.#checkAll(200);
    const current = await this.#cluster.waitForPrimary();
    await eventually(async () => expect(await this.#openIncidents(current)).toBe(0));
    const sessions = await old.query(
      `select application_name from pg_stat_activity where application_name in ('sitekeeper', 'sitekeeper listener')`,
    );
    if (current !== old) {
      expect(sessions).toEqual([]);
      expect(await old.query('select pg_is_in_recovery() as standby')).toEqual([{ standby: true }]);
    }
    this.#failovers++;
    const seconds = (ms: number) => (Math.max(0, ms) / 1000).toFixed(2);
    const acknowledged = acknowledgedMs.map((ms) => seconds(ms - writableMs)).join(' and ');
    return `${how} ${old.name}: ${primary.name} is promoted after ${seconds(promotedMs - lostMs)} s and accepts writes after ${seconds(writableMs - lostMs)} s; those of the service are acknowledged ${acknowledged} s later`;
  }

  /** Compares what the service has acknowledged with what every node contains. */
  async verify(): Promise<string> {
    await Promise.all(this.#loads.map((load) => load.stop()));
    const primary = await this.#cluster.waitForPrimary();
    const alerts = () => primary.query(`select status, count(*)::int as count from alerts group by 1`, 'sitekeeper');
    await eventually(async () => expect(await alerts()).toEqual([{ status: 'sent', count: 2 * monitors * this.#failovers }]));
    expect(new Set(this.#webhook.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(2 * monitors * this.#failovers);

    const acknowledged = this.#loads.flatMap(({ isUpdated }) => [...isUpdated]);
    const websites = await readWebsites(primary);
    const stored = new Map(websites.map(({ domain, favorite }) => [domain, favorite]));
    expect(acknowledged.filter(([domain, isUpdated]) => !stored.has(domain) || (isUpdated && !stored.get(domain)))).toEqual([]);
    expect(acknowledged.length).toBeGreaterThan(50 * this.#failovers);
    for (const node of this.#cluster.nodes) {
      await eventually(async () => expect(await readWebsites(node)).toEqual(websites));
    }
    const statuses = this.#loads.map((load) => load.statuses);
    for (const found of statuses) expect(Object.keys(found).toSorted()).toEqual(['200', '201', '503']);
    expect(this.#processes.map(({ child }) => child.exitCode ?? child.signalCode)).toEqual(this.#processes.map(() => null));
    return `${acknowledged.length} acknowledged creations, ${stored.size} stored, responses: ${JSON.stringify(statuses)}, ${this.#webhook.requests.length} messages`;
  }

  async remove() {
    await Promise.all(this.#loads.map((load) => load.stop()));
    await this.#deployment.remove();
    await this.#webhook.close();
    await this.#target.close();
    await this.#cluster.remove();
  }

  async #start(routes: [Route, Route]) {
    const services: RunningService[] = [];
    for (const [index, route] of routes.entries()) {
      const { url, ownerUrl } = this.#cluster.urls(route);
      const settings = { DATABASE_URL: url, ...(index === 0 && { MIGRATE_DATABASE_URL: ownerUrl }) };
      services.push(await this.#deployment.serve(settings, ['serve', '--no-engine']));
      this.#processes.push(await this.#deployment.startWorker(settings));
    }
    this.#processes.push(...services);
    await this.#createMonitors(services[0]);
    for (const { url } of services) {
      const load = new AcknowledgedWrites(url, this.#deployment.key);
      load.start(10);
      this.#loads.push(load);
    }
  }

  async #createMonitors(service: RunningService | undefined) {
    const post = async (path: string, json: object) => (await service?.api.post(path, { json }))?.body.data;
    const provider = await post('/api/providers', { provider_type: 'webhook', webhook_url: this.#webhook.url });
    for (let n = 1; n <= monitors; n++) {
      const monitor = await post('/api/monitors', { friendly_name: `Shop ${n}`, url: `${this.#target.url}/${n}`, interval: 86_400 });
      await post(`/api/monitors/${monitor.id}/notifications`, { provider_id: provider.id });
    }
    const primary = await this.#cluster.waitForPrimary();
    const readUp = () => primary.query(`select from monitors where status = 'up'`, 'sitekeeper');
    await eventually(async () => expect(await readUp()).toHaveLength(monitors));
  }

  /** Resolves once every monitor has got this response. */
  async #checkAll(status: number) {
    this.#target.script = scripts.respond('', status);
    this.#target.requests.length = 0;
    const primary = await this.#cluster.waitForPrimary();
    await primary.query(
      `update monitors set next_check_at = now(), claim_token = null; select pg_notify('work_available', 'engine')`,
      'sitekeeper',
    );
    await eventually(() => expect(new Set(this.#target.requests.map(({ path }) => path)).size).toBe(monitors));
  }

  async #openIncidents(primary: PatroniNode): Promise<number> {
    return (await primary.query('select from incidents where resolved_at is null', 'sitekeeper')).length;
  }
}

function readWebsites(node: PatroniNode) {
  return node.query<{ domain: string; favorite: boolean }>('select id, domain, favorite from websites order by id', 'sitekeeper');
}
