// Compares `serve --workers 2` with two processes behind nginx, configured by deploy/nginx.conf without TLS.
//   .ci/with-postgres npm run bench:workers
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findNginx, startNginx } from '../operations/nginx.ts';
import { Contender, serveCommand, serveSettings } from './contender.ts';
import { fire, type Measured, type Target } from './fire.ts';
import { median } from './median.ts';
import { type Scenario, scenariosFor } from './scenarios.ts';
import { type Seeded, seed } from './seed.ts';
import { withDatabase } from './with-database.ts';

const rounds = 11;
const seconds = 2;
const names = ['show a website', 'update a website'];

const nginxProgram = findNginx();
if (!nginxProgram) throw new Error('Install nginx first.');
const logFolder = await mkdtemp(join(tmpdir(), 'sitekeeper-bench-'));
const command = serveCommand(join(import.meta.dirname, '../..'));

await withDatabase('bench_workers', async (url) => {
  const seeded = await seed(url);
  const started: Contender[] = [];
  const start = async (name: string, args: string[] = []) => {
    const contender = await Contender.start(name, [...command, ...args], serveSettings(url), logFolder);
    started.push(contender);
    return contender;
  };
  try {
    const workers = await start('workers', ['--workers', '2']);
    const behindProxy = [await start('first'), await start('second')];
    const nginx = await startNginx(
      nginxProgram,
      behindProxy.map((contender) => Number(new URL(contender.url).port)),
    );
    const proxy = { name: 'nginx', url: nginx.url, cpuSeconds: () => 0 };
    try {
      await compare(workers, proxy, seeded);
    } finally {
      await nginx.stop();
    }
  } finally {
    for (const contender of started) await contender.stop();
    await rm(logFolder, { recursive: true });
  }
});

async function compare(workers: Target, proxy: Target, seeded: Seeded) {
  console.log('| scenario | --workers 2 ÷ nginx | lowest to highest | p99 in ms, --workers 2 | p99 in ms, nginx |\n|---|---|---|---|---|');
  for (const scenario of scenariosFor(seeded).filter(({ name }) => names.includes(name))) {
    const pairs: [Measured, Measured][] = [];
    for (let round = 0; round <= rounds; round++) {
      const pair = [await measure(workers, scenario, seeded.key), await measure(proxy, scenario, seeded.key)] as [Measured, Measured];
      if (round > 0) pairs.push(pair); // Round 0 is the warm-up.
    }
    const ratios = pairs.map(([ours, theirs]) => ours.perSecond / theirs.perSecond);
    const range = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
    const p99s = [0, 1].map((index) => median(pairs.map((pair) => (pair[index] as Measured).p99Ms)));
    console.log(`| ${scenario.name} | ${median(ratios).toFixed(2)} | ${range} | ${p99s.join(' | ')} |`);
  }
}

/** The processes were idle during the turn of the other side, so each turn begins with a warm-up. */
async function measure(target: Target, scenario: Scenario, key: string): Promise<Measured> {
  await fire(target, scenario, key, 1);
  return fire(target, scenario, key, seconds);
}
