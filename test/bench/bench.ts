// How fast the service is, beside what the machine can do at all and what others would build:
//   npm run bench
// The contenders take turns, and of three rounds the median counts: only ratios within one run mean something, because
// machines are shared. Prints a table, and writes it to docs/speed.json and as a chart to docs/speed.svg.
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { databaseUrl } from '../support/database-url.ts';
import { chart } from './chart.ts';
import { Contender } from './contender.ts';
import { fire, type Measured } from './fire.ts';
import { type Scenario, scenariosFor } from './scenarios.ts';
import { type Seeded, seed } from './seed.ts';
import { measureStarts } from './starts.ts';

export interface Result {
  scenario: string;
  /** By the name of the contender. */
  measured: Record<string, Measured>;
  /** Requests a second, ours as a part of theirs, and what was aimed at. */
  ratios: Record<string, { ratio: number; goal?: number }>;
}

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
  },
});
const warmUpSeconds = 3;
const peers = ['limit', 'fastify', 'express'] as const;
const server = process.env.TEST_DATABASE_URL;
if (!server) throw new Error('TEST_DATABASE_URL names no PostgreSQL server. Run this with .ci/with-postgres.');
const root = join(import.meta.dirname, '../..');

const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-bench-'));
const name = `sitekeeper_bench_${process.pid}`;
const url = databaseUrl(server, name);
const admin = new pg.Client({ connectionString: server });
await admin.connect();
await admin.query(`create database ${name}`);
const contenders: Contender[] = [];
try {
  const seeded = await seed(url);
  await letOwnerPass(url);
  const { results, memory } = await measure(seeded);
  for (const contender of contenders.splice(0)) await contender.stop();
  const starts = options.only ? {} : await measureStarts();
  print(results, memory, starts);
  if (!options.only) {
    await writeFile(join(root, 'docs/speed.json'), `${JSON.stringify({ results, memory, starts }, null, 2)}\n`);
    await writeFile(join(root, 'docs/speed.svg'), chart(results));
    execFileSync(process.execPath, [join(import.meta.dirname, 'websites-list.ts')], { stdio: 'inherit' });
  }
} finally {
  for (const contender of contenders) await contender.stop();
  await admin.query(`drop database if exists ${name} with (force)`);
  await admin.end();
  await rm(folder, { recursive: true });
}

async function measure(seeded: Seeded): Promise<{ results: Result[]; memory: Record<string, number> }> {
  const start = async (contender: string, script: string[], env: Record<string, string>) => {
    const started = await Contender.start(contender, script, env, folder);
    contenders.push(started);
    return started;
  };
  const peerEnv = { BENCH_DATABASE_URL: url, BENCH_USER: `${seeded.userId}`, BENCH_RATE_LIMIT: '100000000' };
  const ownEnv = { DATABASE_URL: url, SECRET_KEY: Buffer.alloc(32, 1).toString('base64'), PORT: '0' };
  const serve = [join(root, 'src/cli/bin.mjs'), 'serve', '--no-engine'];
  const others: Contender[] = [];
  for (const peer of peers) others.push(await start(peer, [join(import.meta.dirname, `peers/${peer}.ts`)], peerEnv));
  const ours = await start('ours', serve, { ...ownEnv, RATE_LIMIT_PER_MINUTE: '1000000' });
  const strict = await start('ours, limited', serve, { ...ownEnv, RATE_LIMIT_PER_MINUTE: '1' });

  await pause(5000);
  const memory = Object.fromEntries(contenders.map((contender) => [contender.name, Math.round(contender.memoryMegabytes())]));
  const results: Result[] = [];
  const scenarios = scenariosFor(seeded).filter((scenario) => scenario.name.includes(options.only));
  // What all scenarios share is compiled before the first is measured, by whoever has more of it.
  for (const contender of scenarios[0] && !scenarios[0].limitPath ? [...others, ours] : []) {
    await fire(contender, scenarios[0] as Scenario, seeded.key, warmUpSeconds);
  }
  for (const [index, scenario] of scenarios.entries()) {
    process.stderr.write(`${index + 1} of ${scenarios.length}: ${scenario.name}\n`);
    // The peers' refusals are not their own work, so only the limit is asked beside us.
    const fired = scenario.limitPath ? [others[0] as Contender, scenario.overLimit ? strict : ours] : [...others, ours];
    results.push(await measureScenario(scenario, fired, seeded.key));
  }
  return { results, memory };
}

async function measureScenario(scenario: Scenario, fired: Contender[], key: string): Promise<Result> {
  for (const contender of fired) await fire(contender, scenario, key, 1);
  const rounds = new Map<Contender, Measured[]>(fired.map((contender) => [contender, []]));
  const seconds = Math.min(Number(options.seconds), scenario.atMostSeconds ?? Number.POSITIVE_INFINITY);
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const contender of fired) rounds.get(contender)?.push(await fire(contender, scenario, key, seconds));
  }
  const measured = Object.fromEntries([...rounds].map(([{ name }, all]) => [name.replace(', limited', ''), medians(all)]));
  const goals: Record<string, number | undefined> = { limit: scenario.goals.limit, fastify: scenario.goals.a, express: scenario.goals.b };
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
  console.log('\n| scenario | ours/s | limit/s | ours ÷ limit | by CPU | ours ÷ Fastify | ours ÷ Express |\n|---|---|---|---|---|---|---|');
  const shown = (one: { ratio: number; goal?: number } | undefined) =>
    one
      ? `${one.ratio.toFixed(2)}${one.goal === undefined ? '' : one.ratio >= one.goal ? ` (goal ${one.goal})` : ` (GOAL ${one.goal})`}`
      : '';
  for (const { scenario, measured, ratios } of results) {
    const [ours, limit] = [measured.ours, measured.limit] as [Measured, Measured];
    const byCpu = (limit.cpuMicroseconds / ours.cpuMicroseconds).toFixed(2);
    console.log(
      `| ${scenario} | ${ours.perSecond.toFixed(0)} | ${limit.perSecond.toFixed(0)} | ${shown(ratios.limit)} | ${byCpu} | ${shown(ratios.fastify)} | ${shown(ratios.express)} |`,
    );
  }
  for (const [what, megabytes] of Object.entries(memory)) console.log(`memory at rest, ${what}: ${megabytes} MB`);
  for (const [what, seconds] of Object.entries(starts)) console.log(`${what}: ${seconds.toFixed(2)} s`);
}

/** The limit works as the owner, whom the policies bind no longer; the service is still bound. */
async function letOwnerPass(url: string) {
  const owner = new pg.Client({ connectionString: url });
  await owner.connect();
  for (const table of ['users', 'websites', 'monitors', 'incidents']) await owner.query(`alter table ${table} no force row level security`);
  await owner.query('vacuum analyze');
  await owner.end();
}

function medians(measured: Measured[]): Measured {
  const median = (of: (one: Measured) => number) => measured.map(of).sort((a, b) => a - b)[Math.floor(measured.length / 2)] ?? 0;
  return { perSecond: median((one) => one.perSecond), cpuMicroseconds: median((one) => one.cpuMicroseconds) };
}
