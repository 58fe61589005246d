import { afterAll, beforeAll, expect, test } from 'vitest';
import { lookUpAll } from '../../src/net/resolve.ts';
import { startDnsServer } from '../support/dns-server.ts';

let dns: Awaited<ReturnType<typeof startDnsServer>>;

beforeAll(async () => {
  dns = await startDnsServer((name) => (name.startsWith('silent') ? undefined : name === 'shop.example' ? '192.0.2.7' : null));
});
afterAll(() => dns.close());

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
  for (const error of await Promise.all(silent)) expect(error).toMatchObject({ kind: 'our_side', message: 'DNS did not answer' });
});

test('what DNS does not know is looked up as the system does: /etc/hosts has its say', async () => {
  const addresses = await lookUpAll('localhost', dns.resolver);
  expect(addresses.map(({ address }) => address)).toContain('127.0.0.1');
  await expect(lookUpAll('nobody.invalid', dns.resolver)).rejects.toThrow();
});
