// npm run contract:injected: the contract run with a fault injected into some of the responses. Exactly those cases must fail.
import { openFreshDatabase } from '../../support/fresh-database.ts';
import { faults } from '../injected-faults/faults.ts';
import { titleOf } from './cases.ts';
import { runDredd } from './dredd-run.ts';
import { startEnvironment } from './environment.ts';

const environment = await startEnvironment(await openFreshDatabase());
const faultOf = new Map(faults.map((fault) => [fault.caseTitle, fault]));
const outcomes = await runDredd(environment, (testCase, response) => faultOf.get(titleOf(testCase))?.inject(response)).finally(() =>
  environment.stop(),
);
const failed = new Set(outcomes.filter(({ result }) => result === 'fail').map(({ testCase }) => titleOf(testCase)));
for (const { title, caseTitle } of faults)
  console.log(`${failed.has(caseTitle) ? 'detected    ' : 'NOT DETECTED'}  ${title} (${caseTitle})`);
const missed = faults.filter(({ caseTitle }) => !failed.has(caseTitle));
const unexpected = [...failed].filter((caseTitle) => !faultOf.has(caseTitle));
for (const caseTitle of unexpected) console.error(`${caseTitle} failed without an injected fault`);
console.log(`${faults.length - missed.length} of ${faults.length} faults detected; ${unexpected.length} cases without a fault failed.`);
// .ci/contract turns this line into a row of its table.
console.log(`Injected faults in the Dredd run: ${faults.length} faults, ${missed.length + unexpected.length} failed`);
process.exitCode = missed.length + unexpected.length === 0 ? 0 : 1;
