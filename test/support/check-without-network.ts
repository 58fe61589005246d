// Runs checks in a network namespace without a network and prints one result per line. The arguments name the ping program to use.

import type { CheckResult } from '../../src/monitoring/checks/check.ts';
import { LocalFailure } from '../../src/monitoring/checks/local-failure.ts';
import { findPing, Pinger } from '../../src/net/ping.ts';
import { anywhere } from '../../src/net/resolve.ts';
import { checkHttp, checkPing } from './checks.ts';

function print(target: string, result: CheckResult | LocalFailure) {
  const outcome =
    result instanceof LocalFailure
      ? 'local failure'
      : result.up
        ? 'up'
        : `${result.reply === 'none' ? 'no reply' : 'a reply'}: ${result.cause}`;
  console.log(`${target} ${outcome}`);
}

for (const url of ['http://93.184.215.14/', 'http://[2606:2800:21f:cb07::1]/']) print(url, await checkHttp(url, anywhere));

const ping = await findPing(process.argv.slice(2));
if (!ping) throw new Error('This program cannot ping here.');
const pinger = new Pinger(async () => ping);
for (const host of ['127.0.0.1', '93.184.215.14', '2606:2800:21f:cb07::1']) print(host, await checkPing(host, anywhere, pinger));
