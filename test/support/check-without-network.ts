// Run in a namespace without a network: says what checks make of it, a line each, with the program that is named to ping.

import { checkHttp } from '../../src/monitoring/checks/http.ts';
import { LocalFailure } from '../../src/monitoring/checks/local-failure.ts';
import { checkPing } from '../../src/monitoring/checks/ping.ts';
import type { CheckResult } from '../../src/monitoring/engine/transition.ts';
import { findPing, Pinger } from '../../src/net/ping.ts';
import { anywhere } from '../../src/net/resolve.ts';

function say(target: string, result: CheckResult | LocalFailure) {
  const verdict = result instanceof LocalFailure ? 'our fault' : result.up ? 'up' : `down: ${result.cause}`;
  console.log(`${target} ${verdict}`);
}

for (const url of ['http://93.184.215.14/', 'http://[2606:2800:21f:cb07::1]/']) say(url, await checkHttp(url, anywhere));

const ping = await findPing(process.argv.slice(2));
if (!ping) throw new Error('This program may not ping here.');
const pinger = new Pinger(Promise.resolve(ping));
for (const host of ['127.0.0.1', '93.184.215.14', '2606:2800:21f:cb07::1']) say(host, await checkPing(host, anywhere, pinger));
