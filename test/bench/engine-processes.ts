// Starts Sitekeeper as an operator does, with monitors that a user has created through the API.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { generateKey } from '../../src/auth/api-key.ts';
import { serviceUrl } from '../support/database-url.ts';
import { type RunningProcess, run, waitUntilListening } from '../support/process.ts';
import { parentOf } from './process-usage.ts';

export interface Monitored {
  /** An empty folder for the process. */
  folder: string;
  monitors: { name: string; url: string }[];
  /** A webhook on localhost that gets the alerts, with the file of the authority that issued its certificate. */
  alerts: { url: string; authorityFile: string };
  /** Another checkout than this one. */
  checkout?: string;
}

const key = generateKey();

function settingsOf({ alerts }: Monitored): Record<string, string> {
  return {
    PORT: '0',
    SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
    OWNER_API_KEY: key,
    RATE_LIMIT_PER_MINUTE: '1000000',
    NET_ALLOW: '127.0.0.0/8',
    SLACK_HOSTS: 'localhost',
    NODE_EXTRA_CA_CERTS: alerts.authorityFile,
  };
}

/** Starts `serve` on the embedded database. */
export async function startServe(monitored: Monitored): Promise<RunningProcess> {
  const service = run(monitored.folder, settingsOf(monitored), ['serve'], monitored.checkout);
  await createMonitors(await waitUntilListening(service), monitored);
  return service;
}

/**
 * Starts `worker` on PostgreSQL. From a checkout, the first start strips the types of the sources, which takes 10 MB that stay. Later
 * ones load the cache, and the published package has no types, so a later start is measured.
 */
export async function startWorker(ownerUrl: string, monitored: Monitored): Promise<RunningProcess> {
  const settings = { ...settingsOf(monitored), DATABASE_URL: serviceUrl(ownerUrl) };
  const migrating = { ...settings, MIGRATE_DATABASE_URL: ownerUrl };
  const service = run(monitored.folder, migrating, ['serve', '--no-engine'], monitored.checkout);
  await createMonitors(await waitUntilListening(service), monitored);
  await stop(service);
  const start = () => run(monitored.folder, settings, ['worker'], monitored.checkout);
  const first = start();
  while (!first.printed().includes('Engine started')) await delay(100);
  await stop(first);
  return start();
}

export async function stop({ child, ended }: RunningProcess) {
  child.kill('SIGINT');
  await ended;
}

/** The process whose children are all other processes of a PostgreSQL server on this machine. */
export async function postmasterOf(ownerUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const postmaster = parentOf(rows[0]?.pid ?? 0);
  await client.end();
  return postmaster;
}

async function createMonitors(service: string, { monitors, alerts }: Monitored) {
  const provider = await post(`${service}/api/providers`, { provider_type: 'slack', webhook_url: alerts.url });
  for (const { name, url } of monitors) {
    const monitor = await post(`${service}/api/monitors`, { friendly_name: name, url, interval: 60 });
    await post(`${service}/api/monitors/${monitor.id}/notifications`, { provider_id: provider.id });
  }
}

async function post(url: string, body: object): Promise<{ id: number }> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { data: { id: number } }).data;
}
