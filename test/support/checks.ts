import { httpCheck } from '../../src/monitoring/checks/http/http.check.ts';
import { pingCheck } from '../../src/monitoring/checks/ping/ping.check.ts';
import { Pinger } from '../../src/net/ping.ts';
import type { Net } from '../../src/net/resolve.ts';

export function checkHttp(url: string, net: Net) {
  return httpCheck.run({ url, settings: {} }, { net, pinger: new Pinger(async () => undefined) });
}

export function checkPing(url: string, net: Net, pinger: Pinger) {
  return pingCheck.run({ url, settings: {} }, { net, pinger });
}
