// A webhook that is away for two hours, while processes are killed, the database goes away, and the secret is rotated.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { createDatabase, urlOf } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { guarantee } from '../support/guarantee.ts';
import type { RunningProcess } from '../support/process.ts';
import { type ReceivedRequest, startWebServer, type WebServer } from '../support/web-server.ts';
import { parseEvent } from '../support/webhook-event.ts';
import { Deployment, kill, type RunningService } from './support/deployment.ts';
import { send } from './support/load.ts';
import { type DatabaseProxy, startProxy } from './support/proxy.ts';

/** A request that the receiver got. */
interface Attempt extends ReceivedRequest {
  /** When it arrived, on the clock of the service. */
  atMs: number;
  /** The secrets that sign at that time. */
  secrets: string[];
  /** How many were accepted before it arrived, and how many processes were killed. */
  acceptedBefore: number;
  killsBefore: number;
}
type Behavior = (attempt: Attempt, response: ServerResponse) => void | Promise<void>;

interface Delivery {
  event: string;
  incident_id: number;
  status: string;
}

let database: Database;
let proxy: DatabaseProxy;
let deployment: Deployment;
let receiver: WebServer | undefined;
let receiverPort: number;
/** Serves the API, and sends alerts beside a worker. */
let service: RunningService;
let running: RunningProcess[] = [];
let [clockMinutes, kills] = [0, 0];
let secrets: string[] = [];
const attempts: Attempt[] = [];
/** Those that the receiver has stored, in this order. */
const accepted: Attempt[] = [];

beforeAll(async () => {
  [database, receiverPort] = await Promise.all([createDatabase(), freePort()]);
  proxy = await startProxy(urlOf(database));
  deployment = await Deployment.create({});
});
afterAll(async () => {
  await deployment?.remove();
  await receiver?.close();
  await proxy?.close();
  await database?.close();
});

async function killAll() {
  const killed = running.splice(0);
  kills += killed.length;
  await Promise.all(killed.map(kill));
}

/** The clock is a setting of the connections to the database, so all processes start with a new one together. */
async function startAfter(minutes: number) {
  clockMinutes += minutes;
  const settings = { DATABASE_URL: `${proxy.url}?options=-c%20app.clock_offset%3D${clockMinutes}min` };
  [service, ...running] = await Promise.all([deployment.serve(settings), deployment.startWorker(settings)]);
  running.push(service);
}

/** The receiver is always at the same address. */
async function receive(behavior: Behavior) {
  await receiver?.close();
  receiver = await startWebServer({
    port: receiverPort,
    script(request, response) {
      const attempt = {
        ...request,
        atMs: Date.now() + clockMinutes * 60_000,
        secrets,
        acceptedBefore: accepted.length,
        killsBefore: kills,
      };
      attempts.push(attempt);
      void behavior(attempt, response);
    },
  });
}

const accept: Behavior = (attempt, response) => {
  accepted.push(attempt);
  response.writeHead(204).end();
};

const isLogged = (text: string) => () => running.some(({ printed }) => printed().includes(text));
/** How the receiver can be away. Each returns how to see that the processes have noticed it. */
const absences = {
  async refusing() {
    await receiver?.close();
    receiver = undefined;
    return isLogged('connection refused');
  },
  async failing() {
    await receive((_, response) => void response.writeHead(503).end());
    return isLogged('rejected the message with status 503');
  },
  async hanging() {
    const before = attempts.length;
    await receive(() => {});
    return () => attempts.length > before;
  },
};

const statusOf = async (path: string, method = 'GET') => (await send(undefined, service.url + path, { method })).status;

async function loseDatabase() {
  proxy.cut();
  await expect.poll(() => statusOf('/readyz'), { timeout: 20_000, interval: 100 }).toBe(503);
}

/** What can happen while a message is in flight, so that it is not recorded as sent. */
const interruptions = {
  async killBeforeResponse(attempt) {
    accepted.push(attempt);
    await killAll();
  },
  async killBeforeRecord(attempt, response) {
    proxy.cut();
    accept(attempt, response);
    await once(response, 'close');
    await killAll();
  },
  async delayRecord(attempt, response) {
    const lost = loseDatabase();
    accept(attempt, response);
    await lost;
  },
} satisfies Record<string, Behavior>;

const idOf = ({ headers }: Attempt) => headers['webhook-id'];

/** What an attempt is about, such as "monitor.down 7". */
function alertOf({ body }: Attempt): string {
  const { type, data } = parseEvent(body);
  return `${type} ${'incident' in data ? data.incident?.id : ''}`;
}

/** Whether a program that knew this secret accepted the attempt when it arrived. */
function verifies({ atMs, body, headers }: Attempt, secret: string): boolean {
  vi.setSystemTime(atMs);
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  } finally {
    vi.useRealTimers();
  }
}

guarantee(
  25,
  'While a webhook is away for two hours, processes are killed during attempts, the database goes away and the secret is rotated, each alert arrives at least once, in order per incident, repeated only with the same webhook-id, and signed with every valid secret',
  async () => {
    await receive(accept);
    await startAfter(0);
    const json = { provider_type: 'webhook', webhook_url: `http://127.0.0.1:${receiverPort}` };
    const { id, signing_secret: first } = (await service.api.post('/api/providers', { json })).body.data;
    secrets = [first];
    const jobs: string[] = [];
    for (const friendly_name of ['backup', 'billing', 'cleanup', 'import']) {
      const job = { friendly_name, type: 'heartbeat', interval: 86_400, heartbeat: { grace_seconds: 60 } };
      const { data } = (await service.api.post('/api/monitors', { json: job })).body;
      await service.api.post(`/api/monitors/${data.id}/notifications`, { json: { provider_id: id } });
      jobs.push(new URL(data.heartbeat_url).pathname);
    }
    let outages = 0;
    /** All jobs report, again and again until the service has stored it. */
    async function report(outcome: 'failure' | 'success') {
      if (outcome === 'failure') outages += jobs.length;
      const paths = jobs.map((job) => (outcome === 'failure' ? `${job}/fail` : job));
      await Promise.all(paths.map((path) => expect.poll(() => statusOf(path, 'POST'), { timeout: 30_000, interval: 200 }).toBe(200)));
    }
    const listDeliveries = async (): Promise<Delivery[]> => (await service.api.get(`/api/providers/${id}/deliveries`)).body.data;
    const waitUntilSent = () =>
      expect.poll(async () => (await listDeliveries()).every(({ status }) => status === 'sent'), { timeout: 60_000 }).toBe(true);
    await report('failure');
    await waitUntilSent();

    const { refusing, failing, hanging } = absences;
    let second = '';
    for (const [quarter, leave] of [refusing, failing, hanging, refusing, hanging, failing, refusing, hanging].entries()) {
      await killAll();
      const isNoticed = await leave();
      await startAfter(quarter === 0 ? 0 : 15);
      const isDatabaseAway = quarter % 3 === 1;
      if (isDatabaseAway) await loseDatabase();
      const reported = report(quarter % 2 === 0 ? 'success' : 'failure');
      if (isDatabaseAway) await delay(2000);
      proxy.restore();
      await reported;
      await expect.poll(isNoticed, { timeout: 30_000, interval: 20 }).toBe(true);
      if (quarter === 3) {
        // The receiver refuses connections, so nothing that was signed before arrives later.
        second = (await service.api.post(`/api/providers/${id}/rotate-secret`)).body.data.signing_secret;
        secrets = [first, second];
      }
    }

    const { killBeforeResponse, killBeforeRecord, delayRecord } = interruptions;
    const killing = [killBeforeResponse, killBeforeRecord, killBeforeResponse, killBeforeRecord];
    for (const interrupt of [...killing, delayRecord]) {
      await killAll();
      const started = Promise.withResolvers<void>();
      let interrupted: Promise<void> | undefined;
      let messagesBefore = Math.floor(Math.random() * 4);
      await receive(async (attempt, response) => {
        await started.promise;
        await delay(100); // So that both processes have a message in flight.
        if (response.destroyed) return;
        if (messagesBefore-- !== 0) return accept(attempt, response);
        interrupted = interrupt(attempt, response);
      });
      await startAfter(15);
      started.resolve();
      await expect.poll(() => interrupted !== undefined, { timeout: 90_000, interval: 20 }).toBe(true);
      await interrupted;
      proxy.restore();
    }
    await waitUntilSent();

    await killAll();
    secrets = [second];
    await startAfter(24 * 60);
    await report('success');
    await waitUntilSent();

    const incidents: { id: number }[] = (await service.api.get('/api/incidents?window=30d')).body.data;
    const alerts = incidents.flatMap((incident) => [`monitor.down ${incident.id}`, `monitor.recovered ${incident.id}`]).toSorted();
    const logged = (await listDeliveries()).map(({ event, incident_id }) => `${event} ${incident_id}`);
    expect(incidents).toHaveLength(outages);
    expect(logged.toSorted()).toEqual(alerts);
    expect([...new Set(accepted.map(alertOf))].toSorted()).toEqual(alerts);

    const isEarly = (incident: { id: number }) => {
      const down = accepted.findIndex((attempt) => alertOf(attempt) === `monitor.down ${incident.id}`);
      return attempts.some((attempt) => alertOf(attempt) === `monitor.recovered ${incident.id}` && attempt.acceptedBefore <= down);
    };
    expect(incidents.filter(isEarly)).toEqual([]);

    const ids = new Set(attempts.map(idOf));
    expect([ids.size, new Set(attempts.map((attempt) => `${idOf(attempt)} ${attempt.body}`)).size]).toEqual([alerts.length, alerts.length]);
    // What was accepted is sent again after a kill, and only then.
    const repeated = accepted.length - alerts.length;
    expect(repeated).toBeGreaterThanOrEqual(killing.length);
    expect(new Set(accepted.map((attempt) => `${attempt.killsBefore} ${idOf(attempt)}`)).size).toBe(accepted.length);

    const signersOf = (attempt: Attempt) => [first, second].filter((secret) => verifies(attempt, secret));
    expect(attempts.map(signersOf)).toEqual(attempts.map((attempt) => attempt.secrets));
    return `${alerts.length} alerts in ${attempts.length} attempts, ${repeated} accepted again after ${kills} SIGKILLs`;
  },
  300_000,
);
