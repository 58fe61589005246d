import { describe, expect, test } from 'vitest';
import { findPing, type Ping, Pinger } from '../../src/net/ping.ts';

const fping = await findPing(['fping']);

test('findPing returns undefined if none of the programs can ping', async () => {
  expect(await findPing([])).toBeUndefined();
  expect(await findPing(['no-such-program'])).toBeUndefined();
});

test.runIf(fping)('fping pings 500 addresses with one process', async () => {
  const addresses = Array.from({ length: 500 }, (_, index) => `127.0.${1 + Math.floor(index / 250)}.${1 + (index % 250)}`);
  expect((await fping?.(addresses, 3))?.size).toBe(500);
});

describe('Pinger', () => {
  test('pings the addresses of concurrent calls together, and each address once', async () => {
    const calls: string[][] = [];
    const ping: Ping = async (addresses) => {
      calls.push(addresses);
      return new Map([['192.0.2.1', 7]]);
    };
    const pinger = new Pinger(Promise.resolve(ping));
    const responses = await Promise.all(['192.0.2.1', '192.0.2.2', '192.0.2.1'].map((address) => pinger.ping(address)));
    expect(responses).toEqual([7, undefined, 7]);
    expect(calls).toEqual([['192.0.2.1', '192.0.2.2']]);
  });

  test('throws a local error if this machine cannot ping', async () => {
    await expect(new Pinger(Promise.resolve(undefined)).ping('192.0.2.1')).rejects.toMatchObject({
      kind: 'local',
      message: 'neither fping nor ping can be used on this machine',
    });
  });
});
