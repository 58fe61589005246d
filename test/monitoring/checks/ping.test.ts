import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { LocalFailure } from '../../../src/monitoring/checks/local-failure.ts';
import { pingCheck } from '../../../src/monitoring/checks/ping/ping.check.ts';
import { parseRanges } from '../../../src/net/addresses.ts';
import { NetworkError } from '../../../src/net/network-error.ts';
import { Pinger } from '../../../src/net/ping.ts';
import { checkPing } from '../../support/checks.ts';
import { startTestClock } from '../../support/test-clock.ts';

const loopback = { allow: parseRanges(['127.0.0.0/8']) };
/** A pinger that returns the same response for every address. */
const pingerWith = (response: number | NetworkError | undefined) =>
  new Pinger(async () => async (addresses) => new Map(response === undefined ? [] : addresses.map((address) => [address, response])));

test('a response is up with the response time', async () => {
  expect(await checkPing('127.0.0.1', loopback, pingerWith(3))).toEqual({ up: true, responseTimeMs: 3 });
});

test('pings the host of a URL', async () => {
  expect(await checkPing('http://127.0.0.1:8080/path', loopback, pingerWith(3))).toEqual({ up: true, responseTimeMs: 3 });
});

test('no response is down', async () => {
  expect(await checkPing('127.0.0.1', loopback, pingerWith(undefined))).toEqual({
    up: false,
    cause: 'no reply to 3 echo requests',
    statusCode: null,
    reply: 'none',
  });
});

test('an address that is not allowed is down', async () => {
  expect(await checkPing('127.0.0.1', { allow: [] }, pingerWith(3))).toEqual({
    up: false,
    cause: 'address not allowed: it is private, local or reserved',
    statusCode: null,
    reply: 'not_asked',
  });
});

test('an error of the ping program is down with that error, unless this machine has no resources for a process', async () => {
  const failed = pingerWith(new NetworkError('not_sent', 'ping failed on this machine'));
  expect(await checkPing('127.0.0.1', loopback, failed)).toMatchObject({
    up: false,
    cause: 'ping failed on this machine',
    reply: 'not_asked',
  });
  const prevented = pingerWith(new NetworkError('local', 'too many open files locally'));
  expect(await checkPing('127.0.0.1', loopback, prevented)).toBeInstanceOf(LocalFailure);
});

test('a name whose DNS server does not respond is down and does not delay other checks', async () => {
  const lookup = (name: string) =>
    name === 'shop.example' ? Promise.resolve([{ address: '127.0.0.1', family: 4 }]) : new Promise<never>(() => {});
  const net = { ...loopback, lookup };
  const pinger = pingerWith(1);
  const clock = startTestClock();
  onTestFinished(() => clock.stop());
  const unresponsive = checkPing('silent.example', net, pinger);
  expect(await Promise.race([unresponsive, checkPing('shop.example', net, pinger)])).toEqual({ up: true, responseTimeMs: 1 });
  clock.advance(10_000);
  expect(await unresponsive).toMatchObject({ up: false, cause: 'timed out after 10 s waiting for DNS', reply: 'none' });
});

test.each([1, 30])('a DNS server that does not respond ends the check after the timeout of %i s, and not before', async (seconds) => {
  const clock = startTestClock({ isFrozen: true });
  onTestFinished(() => clock.stop());
  const net = { ...loopback, lookup: () => new Promise<never>(() => {}) };
  let result: unknown;
  void checkPing('silent.example', net, pingerWith(1), seconds).then((ended) => {
    result = ended;
  });
  clock.advance(seconds * 1000 - 1);
  await nextTurn();
  expect(result).toBeUndefined();
  clock.advance(1);
  await nextTurn();
  expect(result).toMatchObject({ up: false, cause: `timed out after ${seconds} s waiting for DNS`, reply: 'none' });
});

test('a reply that takes longer than the timeout is down', async () => {
  expect(await checkPing('127.0.0.1', loopback, pingerWith(1000), 1)).toEqual({ up: true, responseTimeMs: 1000 });
  expect(await checkPing('127.0.0.1', loopback, pingerWith(1001), 1)).toEqual({
    up: false,
    cause: 'the reply took longer than 1 s',
    statusCode: null,
    responseTimeMs: 1001,
  });
});

test('says what a check does', () => {
  const describe = (timeoutSeconds: number) =>
    pingCheck.describe({ url: 'https://shop.example/path', settings: {}, intervalSeconds: 60, timeoutSeconds });
  expect(describe(1)).toBe('Send 3 echo requests to shop.example and expect a reply within 1 s.');
  expect(describe(4)).toBe('Send 3 echo requests to shop.example and expect a reply within 2 s.');
});
