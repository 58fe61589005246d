// Run in a namespace without a network: says what checks make of it, a line each, with the program that is named to ping.
import { OurFault } from '../../src/monitoring/engine/our-fault.ts';
import { findPing } from '../../src/monitoring/engine/ping-programs.ts';
import { probeHttp } from '../../src/monitoring/engine/probe-http.ts';
import { Pinger, probePing } from '../../src/monitoring/engine/probe-ping.ts';
import type { CheckResult } from '../../src/monitoring/engine/transition.ts';
import { anywhere } from '../../src/net/resolve.ts';

function say(target: string, result: CheckResult | OurFault) {
  const verdict = result instanceof OurFault ? 'our fault' : result.up ? 'up' : `down: ${result.cause}`;
  console.log(`${target} ${verdict}`);
}

for (const url of ['http://93.184.215.14/', 'http://[2606:2800:21f:cb07::1]/']) say(url, await probeHttp(url, anywhere));

const ping = await findPing(process.argv.slice(2));
if (!ping) throw new Error('This program may not ping here.');
const pinger = new Pinger(Promise.resolve(ping));
for (const host of ['127.0.0.1', '93.184.215.14', '2606:2800:21f:cb07::1']) say(host, await probePing(host, anywhere, pinger));
