import type { CheckTarget, StoredOptions } from '../../src/monitoring/checks/check.ts';
import { heartbeatCheck } from '../../src/monitoring/checks/heartbeat/heartbeat.check.ts';
import { httpCheck } from '../../src/monitoring/checks/http/http.check.ts';
import { httpOptions } from '../../src/monitoring/checks/http/http.options.ts';
import { pingCheck } from '../../src/monitoring/checks/ping/ping.check.ts';
import { tcpCheck } from '../../src/monitoring/checks/tcp/tcp.check.ts';
import { parseRanges } from '../../src/net/addresses.ts';
import { Pinger } from '../../src/net/ping.ts';
import type { Net } from '../../src/net/resolve.ts';
import { testCipher } from './cipher.ts';

/** A monitor with the default options. */
export const plainTarget = { id: 1, userId: 1, settings: {}, intervalSeconds: 60, timeoutSeconds: 10, downBecause: null };

const noPinger = new Pinger(async () => undefined);

/** Checks a URL. The options are in the form in which clients send them. */
export function checkHttp(url: string, net: Net, options: object = {}, timeoutSeconds = 10) {
  return checkHttpWith(url, net, httpSettings(options), timeoutSeconds);
}

/** Checks a URL with the settings as they are stored. */
export function checkHttpWith(url: string, net: Net, settings: StoredOptions, timeoutSeconds = 10) {
  return httpCheck.run({ ...plainTarget, url, settings, timeoutSeconds }, { net, pinger: noPinger, cipher: testCipher });
}

export function httpSettings(options: object) {
  return httpOptions.merge({ ...options }, { monitor: plainTarget, stored: {}, isSameOrigin: false, cipher: testCipher });
}

export function checkPing(url: string, net: Net, pinger: Pinger, timeoutSeconds = 10) {
  return pingCheck.run({ ...plainTarget, url, timeoutSeconds }, { net, pinger, cipher: testCipher });
}

export function checkTcp(url: string, net: Net, timeoutSeconds = 10) {
  return tcpCheck.run({ ...plainTarget, url, timeoutSeconds }, { net, pinger: noPinger, cipher: testCipher });
}

export function checkHeartbeat(target: Partial<CheckTarget> = {}) {
  const net = { allow: parseRanges([]) };
  return heartbeatCheck.run({ ...plainTarget, url: '', ...target }, { net, pinger: noPinger, cipher: testCipher });
}
