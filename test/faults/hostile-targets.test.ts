// Targets that an attacker has chosen: addresses that checks and webhooks must not reach, and servers that attack the check.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect } from 'vitest';
import { parseRanges } from '../../src/net/addresses.ts';
import { Pinger } from '../../src/net/ping.ts';
import { lookUpAll, type Net } from '../../src/net/resolve.ts';
import { createAuthority, trust } from '../support/certificates.ts';
import { checkHttp, checkPing, checkTcp } from '../support/checks.ts';
import { startDnsServer } from '../support/dns-server.ts';
import { guarantee } from '../support/guarantee.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { type Elapsed, slowest, startStopwatch } from '../support/stall.ts';
import { wakeAll } from '../support/wake.ts';
import { type ReceivedRequest, scripts, startWebServer, type WebServer } from '../support/web-server.ts';

// 127.0.0.2 represents the public internet, and 127.0.0.1 the operator's network. Both servers listen on the same port, so that
// a request that is redirected to the other address reaches a server.
const [publicAddress, privateAddress] = ['127.0.0.2', '127.0.0.1'];
/** The results of successive DNS lookups of a name. The last one is repeated. */
const lookups = new Map<string, string[][]>();
const net: Net = {
  allow: parseRanges([publicAddress]),
  async lookup(hostname) {
    const results = lookups.get(hostname) ?? [];
    const addresses = (results.length > 1 ? results.shift() : results[0]) ?? [];
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  },
};

let publicServer: WebServer;
let privateServer: WebServer;
let slackServer: WebServer;
let service: TestService;
let user: TestUser;

beforeAll(async () => {
  const authority = await createAuthority();
  trust(authority);
  const certificate = await authority.issue('hooks.slack.com');
  [publicServer, privateServer] = await startOnOnePort(publicAddress, privateAddress);
  slackServer = await startWebServer({ host: publicAddress, certificate });
  service = await startService({}, { net, engine: true });
  user = await service.createUser();
});

/** The port that the system chooses for the first server may be in use at the second address. Then another one is tried. */
async function startOnOnePort(first: string, second: string, attempts = 20): Promise<[WebServer, WebServer]> {
  const server = await startWebServer({ host: first });
  try {
    return [server, await startWebServer({ host: second, port: server.port })];
  } catch (error) {
    await server.close();
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || attempts === 1) throw error;
    return startOnOnePort(first, second, attempts - 1);
  }
}

afterAll(async () => {
  await service.stop();
  await Promise.all([publicServer.close(), privateServer.close(), slackServer.close()]);
});

const privateHosts = [
  '127.0.0.1',
  '127.0.0.1.',
  '2130706433',
  '017700000001',
  '0177.0.0.1',
  '0x7f000001',
  '0x7f.0x0.0x0.0x1',
  '127.1',
  '127.0.1',
  '１２７.０.０.１',
  '127。0。0。1',
  '①②⑦.0.0.1',
  '0.0.0.0',
  '0',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.0.1',
  '169.254.169.254',
  '2852039166',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  '[::]',
  '[::1]',
  '[::127.0.0.1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::ffff:169.254.169.254]',
  '[::ffff:0:127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::a9fe:a9fe]',
  '[64:ff9b:1::7f00:1]',
  '[2002:7f00:1::]',
  '[2001:0:4136:e378:8000:63bf:3fff:fdd2]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  'localhost',
  'localhost.',
  'LOCALHOST',
  'db.localhost',
  'ｌｏｃａｌｈｏｓｔ',
];

guarantee(17, 'Private addresses are rejected for checks and webhooks in every spelling', async () => {
  let rejections = 0;
  for (const host of privateHosts) {
    const bare = host.replace(/^\[|\]$/g, '');
    for (const json of [
      { type: 'http', url: `http://${host}:${privateServer.port}/` },
      { type: 'http', url: `https://${host}/` },
      { type: 'ping', url: bare },
      { type: 'ping', url: `http://${host}/` },
      { type: 'tcp', url: `tcp://${host}:${privateServer.port}` },
    ]) {
      const { status, body } = await user.api.post('/api/monitors', { json: { friendly_name: 'M', ...json } });
      expect([json, status, body.errors]).toEqual([json, 422, [expect.objectContaining({ pointer: '/url', code: 'address_not_allowed' })]]);
      rejections++;
    }
    const webhook = { provider_type: 'slack', webhook_url: `https://${host}:${privateServer.port}/services/T0/B0/x` };
    const response = await user.api.post('/api/providers', { json: webhook });
    expect([host, response.status, response.body.errors?.[0].pointer]).toEqual([host, 422, '/webhook_url']);
    // The check rejects the address as well: the monitor may be older than the rule or the operator's setting.
    expect([host, await checkHttp(`http://${host}:${privateServer.port}/`, net)]).toEqual([host, notAllowed]);
    expect([host, await checkPing(bare, net, pingRecorder.pinger)]).toEqual([host, notAllowed]);
    expect([host, await checkTcp(`tcp://${host}:${privateServer.port}`, net)]).toEqual([host, notAllowed]);
    rejections += 4;
  }
  // A name is checked when it is used, by the addresses that it resolves to.
  for (const address of ['127.0.0.1', '0.0.0.0', '10.0.0.1', '169.254.169.254', '100.100.100.200', '168.63.129.16', ...ipv6]) {
    lookups.set('shop.example', [[address]]).set('hooks.slack.com', [[address]]);
    expect([address, await checkHttp(`http://shop.example:${privateServer.port}/`, net)]).toEqual([address, notAllowed]);
    expect([address, await checkPing('shop.example', net, pingRecorder.pinger)]).toEqual([address, notAllowed]);
    expect([address, await checkTcp(`tcp://shop.example:${privateServer.port}`, net)]).toEqual([address, notAllowed]);
    const { status, body } = await testWebhook();
    expect([address, status, body.detail]).toEqual([address, 502, expect.stringContaining('address not allowed')]);
    rejections += 4;
  }
  expect([privateServer.connections, slackServer.connections, pingRecorder.addresses]).toEqual([0, 0, []]);
  return `${privateHosts.length} spellings, ${rejections} rejections, 0 connections, 0 echo requests`;
});

const ipv6 = ['::', '::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::', '2001:0:4136:e378:8000:63bf:3fff:fdd2', 'fd00:ec2::254'];
const notAllowed = { up: false, cause: 'address not allowed: it is private, local or reserved', statusCode: null, reply: 'not_asked' };

/** Sends no echo requests, and records the addresses that they would go to. */
const pingRecorder = {
  addresses: [] as string[],
  pinger: new Pinger(async () => async (addresses: string[]) => {
    pingRecorder.addresses.push(...addresses);
    return new Map(addresses.map((address) => [address, 1]));
  }),
};

/** Creates a new user for each test notification, because their number per user is limited. */
async function testWebhook() {
  const { api } = await service.createUser();
  const webhook = { provider_type: 'slack', webhook_url: `https://hooks.slack.com:${slackServer.port}/services/T0/B0/x` };
  const { body } = await api.post('/api/providers', { json: webhook });
  return api.post(`/api/providers/${body.data.id}/test`);
}

guarantee(
  18,
  'A name that resolves to a public address first and to a private one later, or to both, is rejected before anything is sent to the private one',
  async () => {
    for (const server of [publicServer, privateServer, slackServer]) Object.assign(server, { connections: 0, script: scripts.respond() });
    lookups.set('rebind.example', [[publicAddress], [privateAddress]]);
    const id = await createMonitor(`http://rebind.example:${publicServer.port}/`);
    await expect.poll(async () => (await readMonitor(id)).status, { timeout: 15_000 }).toBe('up');
    await makeDue();
    await expect.poll(async () => (await readMonitor(id)).last_error, { timeout: 15_000 }).toBe(notAllowed.cause);
    expect(publicServer.connections).toBe(1);

    lookups.set('both.example', [[publicAddress, privateAddress]]).set('reversed.example', [[privateAddress, publicAddress]]);
    for (const name of ['both.example', 'reversed.example']) {
      expect(await checkHttp(`http://${name}:${publicServer.port}/`, net)).toEqual(notAllowed);
      expect(await checkPing(name, net, pingRecorder.pinger)).toEqual(notAllowed);
      expect(await checkTcp(`tcp://${name}:${publicServer.port}`, net)).toEqual(notAllowed);
      lookups.set('hooks.slack.com', lookups.get(name) ?? []);
      expect((await testWebhook()).body.detail).toContain('address not allowed');
    }
    expect(publicServer.connections).toBe(1);

    // A redirect resolves the name again, even on the same host.
    lookups.set('rebind.example', [[publicAddress], [privateAddress]]);
    publicServer.script = scripts.redirect(`http://rebind.example:${publicServer.port}/again`);
    expect(await checkHttp(`http://rebind.example:${publicServer.port}/`, net)).toMatchObject({ up: false, cause: notAllowed.cause });
    lookups.set('hooks.slack.com', [[publicAddress], [privateAddress]]);
    expect((await testWebhook()).status).toBe(200);
    expect((await testWebhook()).status).toBe(502);
    expect([privateServer.connections, slackServer.connections, pingRecorder.addresses]).toEqual([0, 1, []]);
    return `${publicServer.connections + slackServer.connections} connections to public addresses, ${privateServer.connections} to private ones`;
  },
);

guarantee(
  19,
  'A target that redirects to a private address or in a loop, or sends garbage, endless headers or a slow body, is down with a clear cause, and one with an endless body is up; whatever a target does, also in DNS, TLS and HTTP/2, a check takes less than 2 MiB, ends within 11 s, and leaks nothing',
  async () => {
    const judged = await judgeHostileTargets();
    const measured = await measureHostileTargets();
    return { elapsed: [slowest([...judged.elapsed, ...measured.elapsed])], measured: `${judged.measured}; ${measured.measured}` };
  },
  150_000,
);

/** What the service says about such targets. */
async function judgeHostileTargets() {
  Object.assign(privateServer, { connections: 0 });
  let opened = 0;
  const closed: Elapsed[] = [];
  publicServer.script = (request, response) => {
    opened++;
    const elapsed = startStopwatch();
    response.socket?.once('close', () => closed.push(elapsed()));
    hostileScripts[request.path.slice(1)]?.(request, response);
  };
  lookups.set('hostile.example', [[publicAddress]]);
  const causes: Record<string, string | undefined> = {
    private: 'address not allowed: it is private, local or reserved',
    scheme: 'the redirect is not http or https',
    loop: 'too many redirects',
    headers: 'the response is not valid HTTP',
    garbage: 'the response is not valid HTTP',
    drip: 'timed out after 10 s while reading the body',
    bomb: undefined,
    endless: undefined,
  };
  const ids = new Map<string, number>();
  for (const path of Object.keys(causes)) ids.set(path, await createMonitor(`http://hostile.example:${publicServer.port}/${path}`));
  const statuses = async () => {
    await makeDue(); // A failure is confirmed by further checks. This skips the time between them.
    return Promise.all([...ids].map(async ([path, id]) => [path, (await readMonitor(id)).status]));
  };
  const expected = [...ids.keys()].map((path) => [path, causes[path] === undefined ? 'up' : 'down']);
  await expect.poll(statuses, { timeout: 90_000, interval: 500 }).toEqual(expected);
  for (const [path, id] of ids) {
    const { body, text } = await user.api.get(`/api/monitors/${id}/incidents`);
    expect([path, body.data[0]?.cause]).toEqual([path, causes[path]]);
    expect(`${text}${JSON.stringify(await readMonitor(id))}`).not.toContain('hidden');
  }
  // The last checks may still be running.
  await expect.poll(() => opened - closed.length, { timeout: 30_000 }).toBe(0);
  expect(privateServer.connections).toBe(0);
  return { elapsed: closed, measured: `${ids.size} targets, all judged rightly` };
}

const hostileScripts: Record<string, (request: ReceivedRequest, response: ServerResponse) => void> = {
  private: (...args) => scripts.redirect(`http://${privateAddress}:${privateServer.port}/?token=hidden`)(...args),
  scheme: scripts.redirect('file:///etc/hidden'),
  loop: scripts.redirect('/loop'),
  endless: scripts.endless(),
  // It is slow once, which takes 10 seconds. The checks that confirm the failure need not take as long.
  drip: (...args) => {
    (hasDripped ? scripts.reset() : scripts.drip())(...args);
    hasDripped = true;
  },
  bomb: (request, response) => {
    response.setHeader('content-encoding', 'gzip');
    scripts.endless()(request, response);
  },
  headers: (_, response) => void response.socket?.end(`HTTP/1.1 200 OK\r\n${'X-Hidden: hidden\r\n'.repeat(20_000)}\r\n`),
  garbage: (_, response) => void response.socket?.end('hidden hidden hidden\r\n\r\n'),
};

let hasDripped = false;
const checksAtOnce = 50;
const maxBytes = 2 * 2 ** 20;

/** What checks of such targets take, with 50 checks of each target at once. */
async function measureHostileTargets() {
  const worker = new Worker(new URL('./support/hostile-servers.ts', import.meta.url), { workerData: publicAddress });
  const dns = await startDnsServer((name) => setTimeout(4000, name === 'slow.example' ? publicAddress : null));
  let mostBytes = 0;
  const countBytes = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    socket.once('close', () => {
      mostBytes = Math.max(mostBytes, socket.bytesRead);
    });
  };
  subscribe('net.client.socket', countBytes);
  try {
    const [{ slow, floods }] = (await once(worker, 'message')) as [{ slow: string[]; floods: string[] }];
    const hostileNet: Net = {
      allow: net.allow,
      lookup: async (name) => (name === 'slow.example' ? lookUpAll(name, dns.resolver) : [{ address: publicAddress, family: 4 }]),
    };
    const elapsed: Elapsed[] = [];
    const check = async (url: string) => {
      const stopwatch = startStopwatch();
      await checkHttp(url, hostileNet);
      elapsed.push(stopwatch());
    };
    const checkOften = (url: string) => Promise.all(Array.from({ length: checksAtOnce }, () => check(url)));
    const meter = startMemoryMeter(checksAtOnce * maxBytes);
    for (const url of floods) await checkOften(url);
    // All slow targets together take no more than the checks of one target may.
    await Promise.all(slow.map(checkOften));
    const mostMemory = meter.stop() / checksAtOnce;
    await expect.poll(() => openConnections(worker), { timeout: 15_000 }).toBe(0);
    expect(mostMemory).toBeLessThan(maxBytes);
    expect(mostBytes).toBeLessThan(maxBytes);
    const [memory, bytes] = [mostMemory, mostBytes].map((size) => (size / 2 ** 20).toFixed(2));
    return {
      elapsed,
      measured: `${slow.length + floods.length} attacks, 50 checks of each at once: at most ${bytes} MiB received, ${memory} MiB of memory`,
    };
  } finally {
    unsubscribe('net.client.socket', countBytes);
    await Promise.all([worker.terminate(), dns.close()]);
  }
}

async function openConnections(worker: Worker): Promise<number> {
  worker.postMessage('How many?');
  return (await once(worker, 'message'))[0];
}

/** Measures how much the memory of this thread grows at most. Garbage counts only as long as it is below the limit. */
function startMemoryMeter(limit: number) {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  const size = () => {
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  collectGarbage();
  const before = size();
  let most = 0;
  const timer = setInterval(() => {
    if (size() - before >= limit) collectGarbage();
    most = Math.max(most, size() - before);
  }, 20);
  return {
    stop() {
      clearInterval(timer);
      return most;
    },
  };
}

guarantee(20, 'Ping targets such as -f, ;id and $(id), and names that resolve to loopback, are rejected', async () => {
  const existing = await createMonitor('93.184.215.14', 'ping');
  const targets = [
    '-f',
    '-c1',
    '--help',
    ';id',
    '$(id)',
    '`id`',
    '|id',
    '&&id',
    '8.8.8.8 -f',
    '8.8.8.8;id',
    '8.8.8.8\n-f',
    "';id;'",
    '-f.example',
  ];
  targets.push('example.com/-f', 'user@example.com', '', ' ', 'a'.repeat(300), '-', '@file', '%s', '*', '~', 'fe80::1%eth0');
  for (const url of targets) {
    const created = await user.api.post('/api/monitors', { json: { friendly_name: 'M', type: 'ping', url } });
    const updated = await user.api.put(`/api/monitors/${existing}`, { json: { url } });
    expect([url, created.status, updated.status]).toEqual([url, 422, 422]);
    // Even if the target were in the database, it would not reach the ping program.
    const result = await checkPing(url, net, pingRecorder.pinger);
    expect([url, result]).toEqual([url, expect.objectContaining({ up: false })]);
  }
  lookups
    .set('loop.example', [['127.0.0.1']])
    .set('loop6.example', [['::1']])
    .set('mixed.example', [['8.8.8.8', '127.0.0.1']]);
  for (const name of ['loop.example', 'loop6.example', 'mixed.example', 'localhost']) {
    expect([name, await checkPing(name, net, pingRecorder.pinger)]).toEqual([name, notAllowed]);
  }
  expect(pingRecorder.addresses).toEqual([]);
  return `${targets.length} targets and 4 names rejected, 0 echo requests`;
});

async function createMonitor(url: string, type = 'http'): Promise<number> {
  return (await user.api.post('/api/monitors', { json: { friendly_name: 'Shop', url, type } })).body.data.id;
}

async function readMonitor(id: number) {
  return (await user.api.get(`/api/monitors/${id}`)).body.data;
}

async function makeDue() {
  await service.database.asEngine((em) =>
    em.execute(`update monitors set next_check_at = now() where claim_token is null and status <> 'down'`, [], 'run'),
  );
  await wakeAll(service.database);
}
