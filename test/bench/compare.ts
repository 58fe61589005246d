import { join, resolve } from 'node:path';
import pg from 'pg';
import { Contender, serveCommand, serveSettings } from './contender.ts';
import { type Burst, fireBurst } from './fire.ts';
import { median } from './median.ts';
import { type Scenario, scenariosFor } from './scenarios.ts';
import type { Seeded } from './seed.ts';
import { withDatabase } from './with-database.ts';

interface CompareOptions {
  /** Runs only the scenarios whose name contains this. */
  only: string;
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

/**
 * Measures this checkout and another one in short turns, on the same server, and prints the median of the ratios of all rounds. A
 * checkout compared with itself still differs by up to 13 %. It writes no files.
 */
export async function compareWith(checkout: string, { only, rounds, logFolder }: CompareOptions): Promise<void> {
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
        print(await measure(candidates, rounds));
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

/** The medians of the bursts of one round. */
interface Round {
  ours: Burst;
  theirs: Burst;
}

/** How many bursts of each checkout make a round, and how long each takes. The noise of the machine changes more slowly. */
const [burstsPerRound, burstSeconds] = [20, 0.1];
const warmUpBursts = 20;

async function measure([ours, theirs]: readonly [Candidate, Candidate], rounds: number): Promise<Map<string, Round[]>> {
  const results = new Map<string, Round[]>();
  const requestsPerBurst = new Map<string, number>();
  const fireAt = ({ service, limited, scenarios, key }: Candidate, index: number, requests: number) => {
    const scenario = scenarios[index] as Scenario;
    return fireBurst(scenario.overLimit ? limited : service, scenario, key, requests);
  };
  // Round 0 is the warm-up.
  for (let round = 0; round <= rounds; round++) {
    process.stderr.write(round === 0 ? 'warm-up\n' : `round ${round} of ${rounds}\n`);
    for (const [index, { name, atMostSeconds = Number.POSITIVE_INFINITY }] of ours.scenarios.entries()) {
      const requests = requestsPerBurst.get(name) ?? 100;
      const bursts = round === 0 ? warmUpBursts : Math.min(burstsPerRound, Math.floor(atMostSeconds / burstSeconds));
      const measured = new Map<Candidate, Burst[]>([ours, theirs].map((candidate) => [candidate, []]));
      for (let burst = 0; burst < bursts; burst++) {
        // The order alternates, so that neither side always runs on a warmer machine.
        for (const candidate of burst % 2 === 0 ? [ours, theirs] : [theirs, ours]) {
          measured.get(candidate)?.push(await fireAt(candidate, index, requests));
        }
      }
      const [own, other] = [ours, theirs].map((candidate) => medianOf(measured.get(candidate) ?? [])) as [Burst, Burst];
      if (round === 0) requestsPerBurst.set(name, Math.ceil(burstSeconds * other.perSecond));
      else results.set(name, [...(results.get(name) ?? []), { ours: own, theirs: other }]);
    }
  }
  return results;
}

function medianOf(bursts: Burst[]): Burst {
  return {
    perSecond: median(bursts.map(({ perSecond }) => perSecond)),
    cpuMicroseconds: median(bursts.map(({ cpuMicroseconds }) => cpuMicroseconds)),
  };
}

function print(results: Map<string, Round[]>) {
  console.log('\n| scenario | this/s | other/s | this ÷ other | lowest to highest | by CPU |\n|---|---|---|---|---|---|');
  for (const [scenario, rounds] of results) {
    const ratios = rounds.map(({ ours, theirs }) => ours.perSecond / theirs.perSecond);
    const perSecond = [rounds.map(({ ours }) => ours.perSecond), rounds.map(({ theirs }) => theirs.perSecond)].map(median);
    const byCpu = median(rounds.map(({ ours, theirs }) => theirs.cpuMicroseconds / ours.cpuMicroseconds));
    const range = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
    const [own, other] = perSecond.map((value) => value.toFixed(0));
    console.log(`| ${scenario} | ${own} | ${other} | ${median(ratios).toFixed(2)} | ${range} | ${byCpu.toFixed(2)} |`);
  }
}
