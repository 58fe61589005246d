// npm run contract:planted: the contract run with a fault planted in some of the answers. Exactly those must fail.
import { openFreshDatabase } from '../../support/fresh-database.ts';
import { faults } from '../planted/faults.ts';
import { titleOf } from './cases.ts';
import { runDredd } from './dredd-run.ts';
import { openWorld } from './world.ts';

const world = await openWorld(await openFreshDatabase());
const planted = new Map(faults.map((fault) => [fault.on, fault]));
const outcomes = await runDredd(world, (tried, answer) => planted.get(titleOf(tried))?.plant(answer)).finally(() => world.stop());
const failed = new Set(outcomes.filter(({ verdict }) => verdict === 'fail').map(({ tried }) => titleOf(tried)));
for (const { title, on } of faults) console.log(`${failed.has(on) ? 'caught    ' : 'NOT CAUGHT'}  ${title} (${on})`);
const missed = faults.filter(({ on }) => !failed.has(on));
const others = [...failed].filter((title) => !planted.has(title));
for (const title of others) console.error(`${title} failed without a fault`);
console.log(`${faults.length - missed.length} of ${faults.length} faults caught; ${others.length} answers without one failed.`);
console.log(`Planted faults in Dredd's run: ${faults.length} faults, ${missed.length + others.length} failed`);
process.exitCode = missed.length + others.length === 0 ? 0 : 1;
