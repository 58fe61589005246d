// Compares http checks that search a body with those that do not, on a page of 64 KiB from a server in another process.
//   npm run bench:body-search
import { fork } from 'node:child_process';
import { parseRanges } from '../../src/net/addresses.ts';
import { checkHttpWith, httpSettings } from '../support/checks.ts';
import { scripts, startWebServer } from '../support/web-server.ts';
import { median } from './median.ts';

const pageBytes = 64 * 1024;
const concurrency = 20;
const rounds = 9;
const roundMs = 1000;

if (process.send) {
  const server = await startWebServer();
  server.script = scripts.respond(`${'The quick brown fox jumps over the lazy dog. '.repeat(2000).slice(0, pageBytes - 7)}at last`);
  process.send(server.url);
} else {
  const child = fork(import.meta.filename);
  const url = await new Promise<string>((resolve) => child.once('message', (message) => resolve(String(message))));
  const cases = {
    body_contains: { body_contains: 'at last' },
    body_not_contains: { body_not_contains: 'Internal error' },
    both: { body_contains: 'at last', body_not_contains: 'Internal error' },
  };
  console.log('| checks per second | with a search ÷ without | lowest to highest |\n|---|---|---|');
  for (const [name, options] of Object.entries(cases)) {
    const ratios: number[] = [];
    for (let round = 0; round <= rounds; round++) {
      const ratio = (await checksPerSecond(url, httpSettings(options))) / (await checksPerSecond(url, httpSettings({})));
      if (round > 0) ratios.push(ratio); // Round 0 is the warm-up.
    }
    console.log(`| ${name} | ${median(ratios).toFixed(2)} | ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)} |`);
  }
  child.kill();
}

async function checksPerSecond(url: string, settings: ReturnType<typeof httpSettings>): Promise<number> {
  const net = { allow: parseRanges(['127.0.0.0/8']) };
  const start = performance.now();
  let checks = 0;
  const run = async () => {
    while (performance.now() - start < roundMs) {
      const result = await checkHttpWith(url, net, settings);
      if (!('up' in result && result.up)) throw new Error(`The check failed: ${JSON.stringify(result)}`);
      checks++;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, run));
  return checks / ((performance.now() - start) / 1000);
}
