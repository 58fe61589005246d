// npm run contract:injected: both contract runs, with a fault injected into each of the responses that they check. Only cases
// with a fault are sent, because the others are what npm run contract and contract:cases run.
import { openFreshDatabase } from '../../support/fresh-database.ts';
import { casesBeyondDredd, titleOf } from '../cases/cases.ts';
import { startEnvironment } from '../cases/environment.ts';
import { type Inject, runCases } from '../cases/run-cases.ts';
import { runDredd } from '../dredd/dredd-run.ts';
import { faults } from './faults.ts';

const faultOf = new Map(faults.map((fault) => [fault.caseTitle, fault]));
const isSent = (testCase: Parameters<typeof titleOf>[0]) => faultOf.has(titleOf(testCase));
const injected = new Set<string>();
const inject: Inject = (testCase, response) => {
  faultOf.get(titleOf(testCase))?.inject(response);
  injected.add(titleOf(testCase));
};

const environment = await startEnvironment(await openFreshDatabase());
// The rows of this user get the first ids, so that some faults can use the id 1 as a row of another user.
await environment.main.createUser();
const outcomes = await runDredd(environment, { isSent, inject })
  .then(async (own) => [...own, ...(await runCases(environment, casesBeyondDredd.filter(isSent), inject))])
  .finally(() => environment.stop());
const failed = new Set(outcomes.filter(({ result }) => result === 'fail').map(({ testCase }) => titleOf(testCase)));
// A case that fails before its response is checked proves nothing about the check.
const isDetected = ({ caseTitle }: { caseTitle: string }) => injected.has(caseTitle) && failed.has(caseTitle);
for (const fault of faults) console.log(`${isDetected(fault) ? 'detected    ' : 'NOT DETECTED'}  ${fault.title} (${fault.caseTitle})`);
const missed = faults.filter((fault) => !isDetected(fault)).length;
// .ci/contract turns this line into a row of its table.
console.log(`Injected faults in both contract runs: ${faults.length} faults, ${missed} failed`);
process.exitCode = missed === 0 && faults.length > 0 ? 0 : 1;
