// How fast the service is, beside what the machine can do at all and what others would build:
//   npm run bench
// Interleaved rounds, the median of each; ratios within one run, because machines are shared.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { databaseUrl } from '../support/database-url.ts';
import { Contender } from './contender.ts';
import { fire, type Measured } from './fire.ts';
import { scenariosFor } from './scenarios.ts';
import { type Seeded, seed } from './seed.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    against: { type: 'string', default: 'limit' },
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
  },
});
const server = process.env.TEST_DATABASE_URL;
if (!server) throw new Error('TEST_DATABASE_URL names no PostgreSQL server. Run this with .ci/with-postgres.');
const root = join(import.meta.dirname, '../..');
const seconds = Number(options.seconds);

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
  await measure(seeded);
} finally {
  for (const contender of contenders) await contender.stop();
  await admin.query(`drop database ${name} with (force)`);
  await admin.end();
  await rm(folder, { recursive: true });
}

async function measure(seeded: Seeded) {
  const env = { BENCH_DATABASE_URL: url, BENCH_USER: `${seeded.userId}` };
  const own = { DATABASE_URL: url, SECRET_KEY: Buffer.alloc(32, 1).toString('base64'), PORT: '0' };
  const serve = [join(root, 'src/start.mjs'), 'serve', '--no-engine'];
  const start = async (...of: Parameters<typeof Contender.start>) => {
    const contender = await Contender.start(...of);
    contenders.push(contender);
    return contender;
  };
  const others = [];
  for (const other of options.against.split(',')) {
    others.push(await start(other, [join(import.meta.dirname, `contenders/${other}.ts`)], env, folder));
  }
  const ours = await start('ours', serve, { ...own, RATE_LIMIT_PER_MINUTE: '1000000' }, folder);
  const strict = await start('ours strict', serve, { ...own, RATE_LIMIT_PER_MINUTE: '1' }, folder);
  console.log(
    `memory at rest: ${others
      .concat(ours)
      .map((c) => `${c.name} ${c.memoryMegabytes().toFixed(0)} MB`)
      .join(', ')}`,
  );
  for (const scenario of scenariosFor(seeded).filter((one) => one.name.includes(options.only))) {
    const fired = [...others, scenario.overLimit ? strict : ours];
    const rounds = new Map<Contender, Measured[]>(fired.map((contender) => [contender, []]));
    if (scenario.overLimit) await fetch(strict.url + scenario.path, { headers: { Authorization: `Bearer ${seeded.key}` } });
    for (const contender of fired) await fire(contender, scenario, seeded.key, 1);
    for (let round = 0; round < Number(options.rounds); round++) {
      for (const contender of fired) rounds.get(contender)?.push(await fire(contender, scenario, seeded.key, seconds));
    }
    const limit = medians(rounds.get(fired[0] as Contender) ?? []);
    for (const contender of fired) {
      const { perSecond, cpuMicroseconds } = medians(rounds.get(contender) ?? []);
      console.log(
        `${scenario.name.padEnd(28)} ${contender.name.padEnd(12)} ${perSecond.toFixed(0).padStart(7)}/s ${cpuMicroseconds.toFixed(0).padStart(6)} µs  ${(perSecond / limit.perSecond).toFixed(2)} by CPU ${(limit.cpuMicroseconds / cpuMicroseconds).toFixed(2)}`,
      );
    }
  }
}

/** The limit and the peers' own checks work as the owner, whom the policies bind no longer; the service is still bound. */
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
