import { expect, test } from 'vitest';
import { heartbeatOptions, tokenOf } from '../../../src/monitoring/checks/heartbeat/heartbeat.options.ts';
import { checkHeartbeat, plainTarget } from '../../support/checks.ts';
import { testCipher } from '../../support/cipher.ts';

const missed = { up: false, cause: 'no heartbeat for 2 min', statusCode: null, reply: 'not_asked' };

test('a missed heartbeat is down for the interval and the grace period, and nothing was asked for a reply', async () => {
  expect(await checkHeartbeat()).toEqual(missed);
});

test('the grace period of the monitor counts', async () => {
  expect(await checkHeartbeat({ settings: { grace_seconds: 240 } })).toEqual({ ...missed, cause: 'no heartbeat for 5 min' });
});

test('a monitor that is already down keeps its cause', async () => {
  expect(await checkHeartbeat({ downBecause: 'the job reported a failure' })).toEqual({ ...missed, cause: 'the job reported a failure' });
});

// In 3,200 random characters, one of the 62 is missing with a probability of 62 * (61/62)^3200, which is less than 10^-20.
test('tokens use all 62 letters and digits', () => {
  const newToken = () => {
    const settings = heartbeatOptions.merge({}, { monitor: plainTarget, stored: {}, isSameOrigin: true, cipher: testCipher });
    return tokenOf({ ...plainTarget, settings }, testCipher);
  };
  const tokens = Array.from({ length: 100 }, newToken).join('');
  expect(tokens).toMatch(/^[0-9A-Za-z]{3200}$/);
  expect(new Set(tokens).size).toBe(62);
});
