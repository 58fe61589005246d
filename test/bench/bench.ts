// Compares requests per second of the service with a baseline and with peers, or with another checkout of the service:
//   npm run bench
//   npm run bench -- --compare <path of another checkout>
// The contenders take turns, and the median of the rounds counts. Only ratios within one run are meaningful, because the
// machine is shared. The first form prints a table and writes it to docs/speed.json, and as a chart to docs/speed.svg.
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { serviceUrl } from '../support/database-url.ts';
import { chart } from './chart.ts';
import { compareWith } from './compare.ts';
import { Contender, serveCommand, serveSettings } from './contender.ts';
import { fire, type Measured } from './fire.ts';
import { median } from './median.ts';
import { type Scenario, scenariosFor } from './scenarios.ts';
import { type Seeded, seed } from './seed.ts';
import { measureStarts } from './starts.ts';
import { withDatabase } from './with-database.ts';

export interface Result {
  scenario: string;
  /** By the name of the contender. */
  measured: Record<string, Measured>;
  /** Requests per second of the service divided by those of the other contender, and the goal for that ratio. */
  ratios: Record<string, { ratio: number; goal?: number }>;
}

const { values: options } = parseArgs({
  options: {
    compare: { type: 'string' },
    only: { type: 'string', default: '' },
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string' },
  },
});
const warmUpSeconds = 3;
const peers = ['limit', 'fastify', 'express'] as const;
const root = join(import.meta.dirname, '../..');

const logFolder = await mkdtemp(join(tmpdir(), 'sitekeeper-bench-'));
try {
  if (options.compare) await compareWith(options.compare, { only: options.only, rounds: Number(options.rounds ?? 5), logFolder });
  else await withDatabase('bench', benchmark);
} finally {
  await rm(logFolder, { recursive: true });
}

async function benchmark(url: string) {
  const seeded = await seed(url);
  await exemptOwnerFromPolicies(url);
  const { results, memory } = await measure(url, seeded);
  const starts = options.only ? {} : await measureStarts();
  print(results, memory, starts);
  if (options.only) return;
  await writeFile(join(root, 'docs/speed.json'), `${JSON.stringify({ results, memory, starts }, null, 2)}\n`);
  await writeFile(join(root, 'docs/speed.svg'), chart(results));
  execFileSync(process.execPath, [join(import.meta.dirname, 'websites-list.ts')], { stdio: 'inherit' });
}

async function measure(url: string, seeded: Seeded): Promise<{ results: Result[]; memory: Record<string, number> }> {
  const contenders: Contender[] = [];
  const start = async (name: string, command: string[], settings: Record<string, string>) => {
    const contender = await Contender.start(name, command, settings, logFolder);
    contenders.push(contender);
    return contender;
  };
  try {
    const peerSettings = (peer: string) => ({
      // The baseline bypasses the policies as the owner of the tables; the others log in as the service does.
      BENCH_DATABASE_URL: peer === 'limit' ? url : serviceUrl(url),
      BENCH_USER: `${seeded.userId}`,
      BENCH_RATE_LIMIT: '100000000',
    });
    const others: Contender[] = [];
    for (const peer of peers) others.push(await start(peer, [join(import.meta.dirname, `peers/${peer}.ts`)], peerSettings(peer)));
    const ours = await start('ours', serveCommand(root), serveSettings(url));
    const limited = await start('ours, limited', serveCommand(root), serveSettings(url, { ratePerMinute: 1 }));

    await delay(5000);
    const memory = Object.fromEntries(contenders.map((contender) => [contender.name, Math.round(contender.memoryMegabytes())]));
    const results: Result[] = [];
    const scenarios = scenariosFor(seeded).filter((scenario) => scenario.name.includes(options.only));
    // The code that all scenarios share is compiled before the first one is measured. Otherwise the first result would be low.
    for (const contender of scenarios[0] && !scenarios[0].limitPath ? [...others, ours] : []) {
      await fire(contender, scenarios[0] as Scenario, seeded.key, warmUpSeconds);
    }
    for (const [index, scenario] of scenarios.entries()) {
      process.stderr.write(`${index + 1} of ${scenarios.length}: ${scenario.name}\n`);
      // The peers do not implement rejections themselves, so the service is compared only with the baseline.
      const measured = scenario.limitPath ? [others[0] as Contender, scenario.overLimit ? limited : ours] : [...others, ours];
      results.push(await measureScenario(scenario, measured, seeded.key));
    }
    return { results, memory };
  } finally {
    for (const contender of contenders) await contender.stop();
  }
}

async function measureScenario(scenario: Scenario, contenders: Contender[], key: string): Promise<Result> {
  const [seconds, rounds] = [Number(options.seconds), Number(options.rounds ?? 3)];
  for (const contender of contenders) await fire(contender, scenario, key, 1);
  const measurements = new Map<Contender, Measured[]>(contenders.map((contender) => [contender, []]));
  for (let round = 0; round < rounds; round++) {
    for (const contender of contenders) measurements.get(contender)?.push(await fire(contender, scenario, key, seconds));
  }
  const measured = Object.fromEntries([...measurements].map(([{ name }, all]) => [name.replace(', limited', ''), medians(all)]));
  const goals: Record<string, number | undefined> = scenario.goals;
  const ratios = Object.fromEntries(
    Object.entries(measured)
      .filter(([other]) => other !== 'ours')
      .map(([other, { perSecond }]) => {
        const goal = goals[other];
        return [other, { ratio: (measured.ours?.perSecond ?? 0) / perSecond, ...(goal !== undefined && { goal }) }];
      }),
  );
  return { scenario: scenario.name, measured, ratios };
}

function print(results: Result[], memory: Record<string, number>, starts: Record<string, number>) {
  console.log(
    '\n| scenario | ours/s | baseline/s | ours ÷ baseline | by CPU | ours ÷ Fastify | ours ÷ Express |\n|---|---|---|---|---|---|---|',
  );
  const format = (result: { ratio: number; goal?: number } | undefined) => {
    if (!result) return '';
    const { ratio, goal } = result;
    if (goal === undefined) return ratio.toFixed(2);
    return `${ratio.toFixed(2)} (${ratio >= goal ? 'goal' : 'GOAL MISSED:'} ${goal})`;
  };
  for (const { scenario, measured, ratios } of results) {
    const [ours, limit] = [measured.ours, measured.limit] as [Measured, Measured];
    const byCpu = (limit.cpuMicroseconds / ours.cpuMicroseconds).toFixed(2);
    console.log(
      `| ${scenario} | ${ours.perSecond.toFixed(0)} | ${limit.perSecond.toFixed(0)} | ${format(ratios.limit)} | ${byCpu} | ${format(ratios.fastify)} | ${format(ratios.express)} |`,
    );
  }
  for (const [name, megabytes] of Object.entries(memory)) console.log(`idle memory, ${name}: ${megabytes} MB`);
  for (const [name, seconds] of Object.entries(starts)) console.log(`${name}: ${seconds.toFixed(2)} s`);
}

/** The baseline connects as the owner of the tables and sets no user. The policies still apply to the service and the peers. */
async function exemptOwnerFromPolicies(url: string) {
  const owner = new pg.Client({ connectionString: url });
  await owner.connect();
  for (const table of ['users', 'websites', 'monitors', 'incidents']) await owner.query(`alter table ${table} no force row level security`);
  await owner.query('vacuum analyze');
  await owner.end();
}

function medians(measured: Measured[]): Measured {
  return {
    perSecond: median(measured.map(({ perSecond }) => perSecond)),
    cpuMicroseconds: median(measured.map(({ cpuMicroseconds }) => cpuMicroseconds)),
    p99Ms: median(measured.map(({ p99Ms }) => p99Ms)),
  };
}
