import { expect, test } from 'vitest';
import { checkHeartbeat } from '../../support/checks.ts';

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
