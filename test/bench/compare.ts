import { join, resolve } from 'node:path';
import pg from 'pg';
import { Contender, serveCommand, serveSettings } from './contender.ts';
import { fire, type Measured } from './fire.ts';
import { median } from './median.ts';
import { type Scenario, scenariosFor } from './scenarios.ts';
import type { Seeded } from './seed.ts';
import { withDatabase } from './with-database.ts';

interface CompareOptions {
  /** Runs only the scenarios whose name contains this. */
  only: string;
  seconds: number;
  rounds: number;
  logFolder: string;
}

/** One checkout of the service, running on its own database. */
interface Candidate {
  service: Contender;
  /** Allows one request per minute. */
  limited: Contender;
  scenarios: Scenario[];
  key: string;
}

/** Measures this checkout and another one in turn, on the same server, and prints the median of the ratios. It writes no files. */
export async function compareWith(checkout: string, { only, seconds, rounds, logFolder }: CompareOptions): Promise<void> {
  await withDatabase('bench_this', (thisUrl) =>
    withDatabase('bench_other', async (otherUrl) => {
      const contenders: Contender[] = [];
      const start = async (name: string, path: string, url: string): Promise<Candidate> => {
        const seeded = await seedWith(path, url);
        for (const ratePerMinute of [1_000_000, 1]) {
          const title = ratePerMinute === 1 ? `${name}, limited` : name;
          contenders.push(await Contender.start(title, serveCommand(path), serveSettings(url, { ratePerMinute }), logFolder));
        }
        const [service, limited] = contenders.slice(-2) as [Contender, Contender];
        return { service, limited, scenarios: scenariosFor(seeded).filter((scenario) => scenario.name.includes(only)), key: seeded.key };
      };
      try {
        const candidates = [
          await start('this', join(import.meta.dirname, '../..'), thisUrl),
          await start('other', resolve(checkout), otherUrl),
        ] as const;
        print(await measure(candidates, seconds, rounds));
      } finally {
        for (const contender of contenders) await contender.stop();
      }
    }),
  );
}

/** Each checkout migrates and fills its database with its own code, because the schemas can differ. */
async function seedWith(checkout: string, url: string): Promise<Seeded> {
  const { seed } = (await import(join(checkout, 'test/bench/seed.ts'))) as typeof import('./seed.ts');
  const seeded = await seed(url);
  const owner = new pg.Client({ connectionString: url });
  await owner.connect();
  await owner.query('vacuum analyze');
  await owner.end();
  return seeded;
}

type Pair = { ours: Measured; theirs: Measured };

async function measure([ours, theirs]: readonly [Candidate, Candidate], seconds: number, rounds: number): Promise<Map<string, Pair[]>> {
  const results = new Map<string, Pair[]>(ours.scenarios.map(({ name }) => [name, []]));
  const fireAt = ({ service, limited, scenarios, key }: Candidate, index: number, duration: number) => {
    const scenario = scenarios[index] as Scenario;
    return fire(scenario.overLimit ? limited : service, scenario, key, duration);
  };
  // Round 0 is the warm-up.
  for (let round = 0; round <= rounds; round++) {
    process.stderr.write(round === 0 ? 'warm-up\n' : `round ${round} of ${rounds}\n`);
    for (const [index, { name }] of ours.scenarios.entries()) {
      // The order alternates, so that neither side always runs on a warmer machine.
      const order = round % 2 === 0 ? [ours, theirs] : [theirs, ours];
      const measured = new Map<Candidate, Measured>();
      for (const candidate of order) measured.set(candidate, await fireAt(candidate, index, round === 0 ? Math.min(1, seconds) : seconds));
      if (round > 0) results.get(name)?.push({ ours: measured.get(ours) as Measured, theirs: measured.get(theirs) as Measured });
    }
  }
  return results;
}

function print(results: Map<string, Pair[]>) {
  console.log('\n| scenario | this/s | other/s | this ÷ other | lowest to highest | by CPU |\n|---|---|---|---|---|---|');
  for (const [scenario, pairs] of results) {
    const ratios = pairs.map(({ ours, theirs }) => ours.perSecond / theirs.perSecond);
    const perSecond = [pairs.map(({ ours }) => ours.perSecond), pairs.map(({ theirs }) => theirs.perSecond)].map(median);
    const byCpu = median(pairs.map(({ ours, theirs }) => theirs.cpuMicroseconds / ours.cpuMicroseconds));
    const range = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
    const [own, other] = perSecond.map((value) => value.toFixed(0));
    console.log(`| ${scenario} | ${own} | ${other} | ${median(ratios).toFixed(2)} | ${range} | ${byCpu.toFixed(2)} |`);
  }
}
