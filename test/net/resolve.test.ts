import { spawnSync } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { lookUpAll } from '../../src/net/resolve.ts';
import { startDnsServer } from '../support/dns-server.ts';

let dns: Awaited<ReturnType<typeof startDnsServer>>;

beforeAll(async () => {
  dns = await startDnsServer((name) => (name.startsWith('silent') ? undefined : name === 'shop.example' ? '192.0.2.7' : null));
});
afterAll(async () => {
  await dns.close();
});

test('resolves a name while lookups of other names get no response; those end with an error', async () => {
  const resolver = new Resolver({ timeout: 1500, tries: 1 });
  resolver.setServers(dns.resolver.getServers());
  const ended: string[] = [];
  const silentLookups = Array.from({ length: 20 }, (_, index) =>
    lookUpAll(`silent${index}.example`, resolver).catch((error) => {
      ended.push('silent');
      return error;
    }),
  );
  expect(await lookUpAll('shop.example', resolver)).toEqual([{ address: '192.0.2.7', family: 4 }]);
  expect(ended).toEqual([]);
  for (const error of await Promise.all(silentLookups))
    expect(error).toMatchObject({ kind: 'dns', message: 'DNS lookup failed: no response' });
});

test('a name that has only an IPv6 address is resolved', async () => {
  const ipv6 = await startDnsServer(() => '2001:db8:0:0:0:0:0:7');
  onTestFinished(() => ipv6.close());
  expect(await lookUpAll('shop.example', ipv6.resolver)).toEqual([{ address: '2001:db8::7', family: 6 }]);
});

test('prefers /etc/hosts to DNS', async () => {
  expect(await lookUpAll('LOCALHOST.', dns.resolver)).toContainEqual({ address: '127.0.0.1', family: 4 });
});

test('a name that does not exist is an error of the name', async () => {
  await expect(lookUpAll('unknown.example', dns.resolver)).rejects.toMatchObject({ kind: 'dns', message: 'DNS name not found' });
});

test('after the DNS servers of the machine have changed, names are resolved with the new ones', async () => {
  const changedDns = await startDnsServer(() => '192.0.2.8');
  onTestFinished(() => changedDns.close());
  const [before, after] = [dns, changedDns].map(({ resolver }) => resolver.getServers());
  const machine = { servers: before ?? [] };
  // A resolver has the servers that the machine had when it was created.
  const created = new WeakSet<Resolver>();
  const { getServers } = Resolver.prototype;
  const spy = vi.spyOn(Resolver.prototype, 'getServers').mockImplementation(function (this: Resolver) {
    if (!created.has(this)) this.setServers(machine.servers);
    created.add(this);
    return getServers.call(this);
  });
  onTestFinished(() => spy.mockRestore());
  expect(await lookUpAll('shop.example')).toEqual([{ address: '192.0.2.7', family: 4 }]);
  machine.servers = after ?? [];
  expect(await lookUpAll('shop.example')).toEqual([{ address: '192.0.2.8', family: 4 }]);
});

test.each([
  ['that reports an error', 'SERVFAIL', 'DNS lookup failed: the DNS server reported an error'],
  ['that refuses', 'REFUSED', 'DNS lookup failed: the DNS server refused to answer'],
] as const)('a DNS server %s is an error of the name', async (_, answer, message) => {
  const failing = await startDnsServer(() => answer);
  onTestFinished(() => failing.close());
  await expect(lookUpAll('shop.example', failing.resolver)).rejects.toMatchObject({ kind: 'dns', message });
});

test('a DNS server that cannot be reached does not respond', async () => {
  const unreachable = new Resolver({ timeout: 1000, tries: 1 });
  unreachable.setServers(['127.0.0.1:1']);
  await expect(lookUpAll('shop.example', unreachable)).rejects.toMatchObject({ kind: 'dns', message: 'DNS lookup failed: no response' });
});

test('a lack of open files, which the resolver reports as a refused connection, is a local error', () => {
  const [server] = dns.resolver.getServers();
  const script = `
    import { openSync } from 'node:fs';
    import { Resolver } from 'node:dns/promises';
    import { lookUpAll } from '${join(import.meta.dirname, '../../src/net/resolve.ts')}';
    const resolver = new Resolver({ timeout: 100, tries: 1 });
    resolver.setServers(['${server}']);
    const kinds = [];
    const lookUp = () => lookUpAll('silent.example', resolver).catch(({ kind }) => kinds.push(kind));
    await lookUp();
    try {
      for (;;) openSync('/dev/null');
    } catch {}
    await lookUp();
    console.log(kinds.join());
  `;
  const command = 'ulimit -n 100; exec "$0" --no-warnings --input-type=module -e "$1"';
  const { stdout, stderr } = spawnSync('sh', ['-c', command, process.execPath, script], { encoding: 'utf8', timeout: 30_000 });
  expect([stdout, stderr]).toEqual(['dns,local\n', '']);
});
