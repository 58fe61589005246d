// Where checks and webhooks may not go, however the address is written, and what targets may do to a check.
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect } from 'vitest';
import { checkHttp } from '../../src/monitoring/checks/http.ts';
import { checkPing } from '../../src/monitoring/checks/ping.ts';
import { parseRanges } from '../../src/net/addresses.ts';
import { Pinger } from '../../src/net/ping.ts';
import type { Net } from '../../src/net/resolve.ts';
import { createAuthority, trust } from '../support/certificates.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { type SeenRequest, scripts, startWebServer, type WebServer } from '../support/web-server.ts';
import { fault } from './fault.ts';

// 127.0.0.2 stands for the public internet, 127.0.0.1 for the operator's network. Both listen on the same port, so that
// whoever is led from one to the other arrives.
const [outside, inside] = ['127.0.0.2', '127.0.0.1'];
/** What a name leads to: the n-th answer of the resolver, the last one for ever. */
const names = new Map<string, string[][]>();
const net: Net = {
  allow: parseRanges([outside]),
  async lookup(hostname) {
    const answers = names.get(hostname) ?? [];
    const addresses = (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  },
};

let outer: WebServer;
let inner: WebServer;
let hooks: WebServer;
let service: TestService;
let user: TestUser;

beforeAll(async () => {
  const authority = await createAuthority();
  trust(authority);
  const certificate = await authority.issue('hooks.slack.com');
  outer = await startWebServer({ host: outside });
  inner = await startWebServer({ host: inside, port: outer.port });
  hooks = await startWebServer({ host: outside, certificate });
  service = await startService({}, { net, engine: true });
  user = await service.createUser();
});
afterAll(async () => {
  await service.stop();
  await Promise.all([outer.close(), inner.close(), hooks.close()]);
});

const disguises = [
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

fault(14, 'Addresses in every disguise: all refused for checks and webhooks', async () => {
  let refusals = 0;
  for (const host of disguises) {
    const bare = host.replace(/^\[|\]$/g, '');
    for (const json of [
      { type: 'http', url: `http://${host}:${inner.port}/` },
      { type: 'http', url: `https://${host}/` },
      { type: 'ping', url: bare },
      { type: 'ping', url: `http://${host}/` },
    ]) {
      const { status, body } = await user.api.post('/api/monitors', { json: { friendly_name: 'M', ...json } });
      expect([json, status, body.errors]).toEqual([json, 422, [expect.objectContaining({ pointer: '/url', code: 'address_not_allowed' })]]);
      refusals++;
    }
    const webhook = { provider_type: 'slack', webhook_url: `https://${host}:${inner.port}/services/T0/B0/x` };
    const answer = await user.api.post('/api/providers', { json: webhook });
    expect([host, answer.status, answer.body.errors?.[0].pointer]).toEqual([host, 422, '/webhook_url']);
    // What was stored before the rules, or before the operator narrowed them.
    expect([host, await checkHttp(`http://${host}:${inner.port}/`, net)]).toEqual([host, notAllowed]);
    expect([host, await checkPing(bare, net, recorder.pinger)]).toEqual([host, notAllowed]);
    refusals += 3;
  }
  // A name is judged by what it leads to, when it is used.
  for (const address of ['127.0.0.1', '0.0.0.0', '10.0.0.1', '169.254.169.254', '100.100.100.200', '168.63.129.16', ...ipv6]) {
    names.set('shop.example', [[address]]).set('hooks.slack.com', [[address]]);
    expect([address, await checkHttp(`http://shop.example:${inner.port}/`, net)]).toEqual([address, notAllowed]);
    expect([address, await checkPing('shop.example', net, recorder.pinger)]).toEqual([address, notAllowed]);
    const { status, body } = await testWebhook();
    expect([address, status, body.detail]).toEqual([address, 502, expect.stringContaining('address not allowed')]);
    refusals += 3;
  }
  expect([inner.connections, hooks.connections, recorder.pinged]).toEqual([0, 0, []]);
  return `${disguises.length} spellings, ${refusals} refusals, 0 connections, 0 echo requests`;
});

const ipv6 = ['::', '::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::', '2001:0:4136:e378:8000:63bf:3fff:fdd2', 'fd00:ec2::254'];
const notAllowed = { up: false, cause: 'address_not_allowed', statusCode: null };

/** Pings nobody, and remembers whom it should have. */
const recorder = {
  pinged: [] as string[],
  pinger: new Pinger(
    Promise.resolve(async (addresses: string[]) => {
      recorder.pinged.push(...addresses);
      return new Map(addresses.map((address) => [address, 1]));
    }),
  ),
};

/** Each by a user of its own, because tests are limited. */
async function testWebhook() {
  const { api } = await service.createUser();
  const webhook = { provider_type: 'slack', webhook_url: `https://hooks.slack.com:${hooks.port}/services/T0/B0/x` };
  const { body } = await api.post('/api/providers', { json: webhook });
  return api.post(`/api/providers/${body.data.id}/test`);
}

fault(15, 'A name that is public first and private next, and one that is both: refused, not one packet to the private one', async () => {
  for (const server of [outer, inner, hooks]) Object.assign(server, { connections: 0, script: scripts.accept() });
  names.set('rebind.example', [[outside], [inside]]);
  const id = await createMonitor(`http://rebind.example:${outer.port}/`);
  await expect.poll(async () => (await monitor(id)).status, { timeout: 15_000 }).toBe('up');
  await dueNow();
  await expect.poll(async () => (await monitor(id)).last_error, { timeout: 15_000 }).toBe('address_not_allowed');
  expect(outer.connections).toBe(1);

  names.set('both.example', [[outside, inside]]).set('turned.example', [[inside, outside]]);
  for (const name of ['both.example', 'turned.example']) {
    expect(await checkHttp(`http://${name}:${outer.port}/`, net)).toEqual(notAllowed);
    expect(await checkPing(name, net, recorder.pinger)).toEqual(notAllowed);
    names.set('hooks.slack.com', names.get(name) ?? []);
    expect((await testWebhook()).body.detail).toContain('address not allowed');
  }
  expect(outer.connections).toBe(1);

  // Asked anew on a redirect to itself.
  names.set('rebind.example', [[outside], [inside]]);
  outer.script = scripts.redirect(`http://rebind.example:${outer.port}/again`);
  expect(await checkHttp(`http://rebind.example:${outer.port}/`, net)).toEqual(notAllowed);
  names.set('hooks.slack.com', [[outside], [inside]]);
  expect((await testWebhook()).status).toBe(200);
  expect((await testWebhook()).status).toBe(502);
  expect([inner.connections, hooks.connections, recorder.pinged]).toEqual([0, 1, []]);
  return `public ones reached ${outer.connections + hooks.connections} times, private ones ${inner.connections} times`;
});

fault(
  16,
  'Redirect to a private address, redirect loop, gzip bomb, endless body, slow drip: down with a clear cause, bytes and time bounded, nothing leaked',
  async () => {
    Object.assign(inner, { connections: 0 });
    const seen: { bytes: number; ms: number }[] = [];
    outer.script = (request, response) => {
      const { socket } = response;
      const start = performance.now();
      socket?.once('close', () => seen.push({ bytes: socket.bytesWritten, ms: performance.now() - start }));
      nasty[request.path.slice(1)]?.(request, response);
    };
    names.set('nasty.example', [[outside]]);
    const causes: Record<string, string> = {
      private: 'address_not_allowed',
      scheme: 'the redirect is not http or https',
      loop: 'too many redirects',
      bomb: 'the answer did not end within 2000000 bytes',
      endless: 'the answer did not end within 2000000 bytes',
      headers: 'the answer is not valid HTTP',
      garbage: 'the answer is not valid HTTP',
      drip: 'timed out after 10 s',
    };
    const ids = new Map<string, number>();
    for (const path of Object.keys(causes)) ids.set(path, await createMonitor(`http://nasty.example:${outer.port}/${path}`));
    const statuses = async () => {
      await dueNow(); // instead of the pauses between a failing check and its confirmations
      return Promise.all([...ids.values()].map(async (id) => (await monitor(id)).status));
    };
    await expect.poll(statuses, { timeout: 90_000, interval: 500 }).toEqual([...ids].map(() => 'down'));
    for (const [path, id] of ids) {
      const { body, text } = await user.api.get(`/api/monitors/${id}/incidents`);
      expect([path, body.data[0].cause]).toEqual([path, causes[path]]);
      expect(`${text}${JSON.stringify(await monitor(id))}`).not.toContain('hidden');
    }
    const [bytes, ms] = [Math.max(...seen.map((each) => each.bytes)), Math.max(...seen.map((each) => each.ms))];
    expect(bytes).toBeLessThan(16 * 2 ** 20); // what the sockets on both sides hold is sent, too
    expect(ms).toBeLessThan(25_000); // ten, and room for a slow machine
    expect(inner.connections).toBe(0);
    // Long, but with an end that is known.
    expect(await checkHttp(`http://nasty.example:${outer.port}/download`, net)).toMatchObject({ up: true });
    return `${ids.size} ways, all down with their cause; at most ${(bytes / 2 ** 20).toFixed(1)} MiB sent to us, the longest ${(ms / 1000).toFixed(1)} s`;
  },
  150_000,
);

/** 10 KB that become 10 MB, one after the other; together they are one gzip stream. */
const bomb = gzipSync(Buffer.alloc(10_000_000));

const nasty: Record<string, (request: SeenRequest, response: ServerResponse) => void> = {
  private: (...args) => scripts.redirect(`http://${inside}:${inner.port}/?token=hidden`)(...args),
  scheme: scripts.redirect('file:///etc/hidden'),
  loop: scripts.redirect('/loop'),
  endless: scripts.endless(),
  drip: scripts.drip(),
  bomb: (request, response) => {
    response.setHeader('content-encoding', 'gzip');
    scripts.endless(200, bomb)(request, response);
  },
  headers: (_, response) => void response.socket?.end(`HTTP/1.1 200 OK\r\n${'X-Hidden: hidden\r\n'.repeat(20_000)}\r\n`),
  garbage: (_, response) => void response.socket?.end('hidden hidden hidden\r\n\r\n'),
  download: (_, response) => {
    response.writeHead(200, { 'content-length': 1e9 });
    response.write(Buffer.alloc(1_000_000));
  },
};

fault(17, 'Ping targets -f, ;id, $(id), a name that resolves to loopback: refused', async () => {
  const own = await createMonitor('93.184.215.14', 'ping');
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
    const updated = await user.api.put(`/api/monitors/${own}`, { json: { url } });
    expect([url, created.status, updated.status]).toEqual([url, 422, 422]);
    // Even if it stood in the database, it would not get as far as the program.
    const result = await checkPing(url, net, recorder.pinger);
    expect([url, result]).toEqual([url, expect.objectContaining({ up: false })]);
  }
  names
    .set('loop.example', [['127.0.0.1']])
    .set('loop6.example', [['::1']])
    .set('mixed.example', [['8.8.8.8', '127.0.0.1']]);
  for (const name of ['loop.example', 'loop6.example', 'mixed.example', 'localhost']) {
    expect([name, await checkPing(name, net, recorder.pinger)]).toEqual([name, notAllowed]);
  }
  expect(recorder.pinged).toEqual([]);
  return `${targets.length} targets and 4 names refused, 0 echo requests`;
});

async function createMonitor(url: string, type = 'http'): Promise<number> {
  return (await user.api.post('/api/monitors', { json: { friendly_name: 'Shop', url, type } })).body.data.id;
}

async function monitor(id: number) {
  return (await user.api.get(`/api/monitors/${id}`)).body.data;
}

function dueNow() {
  return service.database.asEngine((em) =>
    em.execute(`update monitors set next_check_at = now() where claim_token is null and status <> 'down'`, [], 'run'),
  );
}
