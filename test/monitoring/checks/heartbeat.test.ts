import { expect, test } from 'vitest';
import { heartbeatCheck } from '../../../src/monitoring/checks/heartbeat/heartbeat.check.ts';
import { parseRanges } from '../../../src/net/addresses.ts';
import { Pinger } from '../../../src/net/ping.ts';
import { plainTarget } from '../../support/checks.ts';
import { testCipher } from '../../support/cipher.ts';

const deps = { net: { allow: parseRanges([]) }, pinger: new Pinger(async () => undefined), cipher: testCipher };
const run = (fields: object = {}) => heartbeatCheck.run({ ...plainTarget, url: '', ...fields }, deps);
const missed = { up: false, cause: 'no heartbeat for 2 min', statusCode: null, reply: 'not_asked' };

test('a missed heartbeat is down for the interval and the grace period, and nothing was asked for a reply', async () => {
  expect(await run()).toEqual(missed);
});

test('the grace period of the monitor counts', async () => {
  expect(await run({ settings: { grace_seconds: 240 } })).toEqual({ ...missed, cause: 'no heartbeat for 5 min' });
});

test('a monitor that is already down keeps its cause', async () => {
  expect(await run({ downBecause: 'the job reported a failure' })).toEqual({ ...missed, cause: 'the job reported a failure' });
});
