// Whose fault a check without a reply is. Names that cannot be resolved represent hosts that do not reply.
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { CheckResult } from '../../../src/monitoring/checks/check.ts';
import type { Claim } from '../../../src/monitoring/engine/claim.ts';
import type { ComparedMonitor } from '../../../src/monitoring/engine/compared-monitors.ts';
import { Connectivity, NoNetwork } from '../../../src/monitoring/engine/connectivity.ts';
import { parseRanges } from '../../../src/net/addresses.ts';
import { Pinger } from '../../../src/net/ping.ts';
import type { TcpAddress } from '../../../src/net/tcp-probe.ts';
import { plainTarget } from '../../support/checks.ts';
import { testCipher } from '../../support/cipher.ts';
import { startFullServer } from '../../support/full-server.ts';
import { startTestClock, type TestClock } from '../../support/test-clock.ts';
import { scripts, startWebServer, type WebServer } from '../../support/web-server.ts';

const noReply: CheckResult = { up: false, cause: 'DNS lookup failed: no response', statusCode: null, reply: 'none' };
const reply: CheckResult = { up: false, cause: 'connection refused', statusCode: null };

let target: WebServer;
let clock: TestClock;
/** The addresses of the names that can be resolved now, or the code of the error. */
let names: Map<string, string>;
let searches: number;
/** The host that the last search has excluded. */
let excluded: string;

beforeAll(async () => {
  target = await startWebServer({ host: '0.0.0.0' });
});
beforeEach(() => {
  names = new Map();
  searches = 0;
  target.requests.length = 0;
  clock = startTestClock();
  onTestFinished(() => clock.stop());
});
afterAll(() => target.close());

async function lookup(name: string) {
  const found = names.get(name) ?? 'EAI_AGAIN';
  if (found === 'never') return new Promise<never>(() => {});
  if (found.startsWith('E')) throw Object.assign(new Error('injected'), { code: found });
  return found.split(',').map((address) => ({ address, family: 4 }));
}

interface Options {
  type?: 'http' | 'ping';
  canPing?: boolean;
  port?: number;
  address?: TcpAddress;
}

/** `others` are the hosts of the monitors that were up. */
function connectivityWith(others: string[], { type = 'http', canPing = true, port = target.port, address }: Options = {}): Connectivity {
  const url = (host: string) => (type === 'http' ? `http://${host}:${port}/` : host);
  const found: ComparedMonitor[] = others.map((host) => ({ type, host, url: url(host) }));
  const connectivity = new Connectivity({
    net: { allow: parseRanges(['127.0.0.0/8']), lookup },
    pinger: new Pinger(async () => (canPing ? async () => new Map() : undefined)), // No host replies to echo requests.
    cipher: testCipher,
    address,
    async findUp({ host }) {
      searches++;
      excluded = host;
      return found;
    },
  });
  clock.advance(1000); // What has replied before the start is unknown.
  return connectivity;
}

function claimOf(host: string, status: Claim['state']['status'] = 'up'): Claim {
  const state = { status, failures: 0 };
  const rules = { confirmations: 2, isInMaintenance: false };
  return { ...plainTarget, type: 'http', url: `http://${host}/`, host, state, rules, token: 1, latenessMs: 0 };
}

/** Judges a check that has just failed without a reply. */
const judge = (connectivity: Connectivity, claim = claimOf('a.example')) => connectivity.judge(claim, noReply, performance.now());

test('if three servers have become silent, the network is to blame', async () => {
  const connectivity = connectivityWith(['b.example', 'c.example']);
  expect(await judge(connectivity)).toBeInstanceOf(NoNetwork);
  expect(connectivity.isSilent).toBe(true);
});

test('a silence of a minute has a date: that of the last reply', async () => {
  const connectivity = connectivityWith(['b.example', 'c.example']);
  await clock.pass(1000); // The test clock does not move the date.
  const before = Date.now();
  expect(await connectivity.judge(claimOf('a.example'), reply, performance.now())).toBe(reply);
  const after = Date.now();
  clock.advance(50_000);
  expect(await judge(connectivity)).toMatchObject({ message: 'no network here', since: undefined });
  clock.advance(10_000);
  const { since } = (await judge(connectivity)) as NoNetwork;
  expect(since?.getTime()).toBeGreaterThanOrEqual(before);
  expect(since?.getTime()).toBeLessThanOrEqual(after);
});

test.each([
  ['responds, if only with an error', () => target.port],
  ['refuses connections', () => 1],
])('while any other host %s, the target is to blame', async (_, port) => {
  names.set('d.example', '127.0.0.1');
  target.script = scripts.respond('', 500);
  onTestFinished(() => {
    target.script = scripts.respond();
  });
  const connectivity = connectivityWith(['b.example', 'c.example', 'd.example'], { port: port() });
  expect(await judge(connectivity)).toBe(noReply);
  expect(connectivity.isSilent).toBe(false);
});

test('a host that could not be asked for lack of local resources has not replied', async () => {
  names.set('d.example', 'EMFILE');
  expect(await judge(connectivityWith(['b.example', 'c.example', 'd.example']))).toBeInstanceOf(NoNetwork);
});

test('a reply within the second before the check, or during it, is enough: no other host is asked', async () => {
  const connectivity = connectivityWith(['b.example', 'c.example']);
  await connectivity.judge(claimOf('b.example'), reply, performance.now());
  clock.advance(900);
  expect(await judge(connectivity)).toBe(noReply);
  clock.advance(10_000);
  const startedMs = performance.now();
  clock.advance(4000);
  await connectivity.judge(claimOf('b.example'), { up: true, responseTimeMs: 1 }, performance.now());
  clock.advance(4000);
  expect(await connectivity.judge(claimOf('a.example'), noReply, startedMs)).toBe(noReply);
  expect(searches).toBe(0);
  clock.advance(1500);
  expect(await judge(connectivity)).toBeInstanceOf(NoNetwork);
  expect(searches).toBe(1);
});

test('a check that hung after a reply does not show that there was a network when it timed out', async () => {
  const connectivity = connectivityWith(['b.example', 'c.example']);
  const startedMs = performance.now();
  clock.advance(10_000);
  const hung: CheckResult = { ...noReply, cause: 'timed out after 10 s waiting for the response', reply: 'earlier' };
  expect(await connectivity.judge(claimOf('b.example'), hung, startedMs)).toBe(hung);
  expect(searches).toBe(0);
  expect(await judge(connectivity)).toBeInstanceOf(NoNetwork);
});

test('a target that was not asked is no silent server, but others may be', async () => {
  const notAsked: CheckResult = { ...noReply, cause: 'this service cannot ping', reply: 'not_asked' };
  const judgeWith = (others: string[]) => connectivityWith(others).judge(claimOf('a.example'), notAsked, performance.now());
  expect(await judgeWith(['b.example', 'c.example'])).toBe(notAsked);
  expect(await judgeWith(['b.example', 'c.example', 'd.example'])).toBeInstanceOf(NoNetwork);
});

test.each([
  ['that cannot be pinged from here', { type: 'ping', canPing: false }, '127.0.0.1'],
  ['whose addresses are not allowed', {}, '10.0.0.1'],
] as const)('hosts %s do not count as silent', async (_, options, address) => {
  for (const name of ['b.example', 'c.example', 'd.example']) names.set(name, address);
  expect(await judge(connectivityWith(['b.example', 'c.example', 'd.example'], options))).toBe(noReply);
});

test('a reply that arrives while the servers are counted is enough', async () => {
  names.set('slow.example', 'never');
  const connectivity = connectivityWith(['b.example', 'c.example']);
  const judged = judge(connectivity, claimOf('slow.example'));
  await clock.pass(3000);
  await connectivity.judge(claimOf('d.example'), reply, performance.now());
  await clock.pass(3000);
  expect(await judged).toBe(noReply);
});

test('a lookup that takes long does not delay the judgement further', async () => {
  names.set('slow.example', 'never');
  const judged = judge(connectivityWith(['b.example', 'c.example']), claimOf('slow.example'));
  await clock.pass(6000);
  expect(await judged).toBeInstanceOf(NoNetwork);
});

test('a monitor that was never up is compared with others of its host, too', async () => {
  const connectivity = connectivityWith(['b.example', 'c.example']);
  await judge(connectivity);
  expect(excluded).toBe('a.example');
  await judge(connectivity, claimOf('a.example', 'pending'));
  expect(excluded).toBe('');
});

test('a reply ends the silence at once', async () => {
  const connectivity = connectivityWith(['b.example', 'c.example']);
  await judge(connectivity);
  expect(await connectivity.judge(claimOf('b.example'), reply, performance.now())).toBe(reply);
  expect(connectivity.isSilent).toBe(false);
});

test.each([
  ['two servers', ['a.example', 'b.example'], []],
  ['three names of one domain', ['www.shop.example', 'api.shop.example', 'shop.example'], []],
  ['three names of one server', ['a.example', 'b.example', 'c.example'], ['127.0.0.1', '127.0.0.1', '127.0.0.1']],
  [
    'three names of one server with three addresses',
    ['a.example', 'b.example', 'c.example'],
    ['127.0.0.1,127.0.0.2,127.0.0.3', '127.0.0.2,127.0.0.3,127.0.0.1', '127.0.0.3,127.0.0.1,127.0.0.2'],
  ],
])('%s are too few to blame the network', async (_, [own = '', ...others], addresses) => {
  for (const [index, address] of addresses.entries()) names.set([own, ...others][index] ?? '', address);
  expect(await judge(connectivityWith(others, { type: 'ping' }), claimOf(own))).toBe(noReply);
});

test('three servers that do not reply to echo requests are enough to blame the network', async () => {
  for (const [index, name] of ['a.example', 'b.example', 'c.example'].entries()) names.set(name, `127.0.0.${index + 1}`);
  expect(await judge(connectivityWith(['b.example', 'c.example'], { type: 'ping' }))).toBeInstanceOf(NoNetwork);
});

test('names without a domain are different servers', async () => {
  expect(await judge(connectivityWith(['printer', 'router']), claimOf('nas'))).toBeInstanceOf(NoNetwork);
});

test('a monitor that was never up does not count as a server that became silent', async () => {
  expect(await judge(connectivityWith(['b.example', 'c.example']), claimOf('a.example', 'pending'))).toBe(noReply);
});

test('no other host is asked on behalf of a monitor that is down already, but without a network nothing is known about it either', async () => {
  const connectivity = connectivityWith(['b.example', 'c.example']);
  expect(await judge(connectivity, claimOf('d.example', 'down'))).toBe(noReply);
  expect(searches).toBe(0);
  await judge(connectivity);
  expect(await judge(connectivity, claimOf('d.example', 'down'))).toBeInstanceOf(NoNetwork);
  expect(searches).toBe(1);
});

test('checks that fail together ask other hosts together, and later ones ask again', async () => {
  const connectivity = connectivityWith(['b.example', 'c.example']);
  await Promise.all([judge(connectivity), judge(connectivity, claimOf('b.example'))]);
  expect(searches).toBe(1);
  await judge(connectivity);
  expect(searches).toBe(2);
});

test('the other hosts are asked one after the other until one replies', async () => {
  const others = ['b.example', 'c.example', 'd.example', 'e.example', 'f.example'];
  for (const name of others) names.set(name, '127.0.0.1');
  expect(await judge(connectivityWith(others))).toBe(noReply);
  await clock.pass(5000);
  expect(target.requests.length).toBeLessThan(others.length);
});

test.each([
  ['replies', () => target.port],
  ['refuses connections', () => 1],
])('while the address of CONNECTIVITY_CHECK %s, the target is to blame', async (_, port) => {
  const connectivity = connectivityWith(['b.example', 'c.example'], { address: { host: '127.0.0.1', port: port() } });
  expect(await judge(connectivity)).toBe(noReply);
  expect(searches).toBe(0);
});

test('while the address of CONNECTIVITY_CHECK is silent, one silent monitor is enough to blame the network, and one reply to blame the target', async () => {
  const full = await startFullServer('127.0.0.1');
  onTestFinished(() => void full.close());
  const address = { host: '127.0.0.1', port: full.port };
  names.set('b.example', '127.0.0.1');
  const judged = [connectivityWith([], { address }), connectivityWith(['b.example'], { address })].map((each) => judge(each));
  expect(await Promise.all(judged)).toEqual([expect.any(NoNetwork), noReply]);
});
