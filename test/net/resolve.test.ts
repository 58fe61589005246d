import { Resolver } from 'node:dns/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lookUpAll } from '../../src/net/resolve.ts';
import { startDnsServer } from '../support/dns-server.ts';

let dns: Awaited<ReturnType<typeof startDnsServer>>;
let failing: typeof dns;

beforeAll(async () => {
  dns = await startDnsServer((name) => (name.startsWith('silent') ? undefined : name === 'shop.example' ? '192.0.2.7' : null));
  failing = await startDnsServer(() => 'SERVFAIL');
});
afterAll(async () => {
  await dns.close();
  await failing.close();
});

test('a name is found while many others are asked for whose servers are silent; those are our side, not theirs', async () => {
  const ended: string[] = [];
  const silent = Array.from({ length: 20 }, (_, index) =>
    lookUpAll(`silent${index}.example`, dns.resolver).catch((error) => {
      ended.push('silent');
      return error;
    }),
  );
  expect(await lookUpAll('shop.example', dns.resolver)).toEqual([{ address: '192.0.2.7', family: 4 }]);
  expect(ended).toEqual([]);
  for (const error of await Promise.all(silent)) expect(error).toMatchObject({ kind: 'local', message: 'DNS did not answer' });
});

test('/etc/hosts is asked first, and nobody is asked for what DNS does not know', async () => {
  expect(await lookUpAll('LOCALHOST.', dns.resolver)).toContainEqual({ address: '127.0.0.1', family: 4 });
  await expect(lookUpAll('nobody.example', dns.resolver)).rejects.toMatchObject({ kind: 'dns', message: 'DNS name not found' });
});

test('a server that cannot find out, or that nobody reaches, says nothing about the name', async () => {
  const unreachable = new Resolver({ timeout: 1000, tries: 1 });
  unreachable.setServers(['127.0.0.1:1']);
  for (const resolver of [failing.resolver, unreachable]) {
    await expect(lookUpAll('shop.example', resolver)).rejects.toMatchObject({ kind: 'local', message: 'DNS did not answer' });
  }
});
