// npm run contract:cases: what the contract declares and Dredd cannot express, which is all but the first example of a response.
import { openFreshDatabase } from '../../support/fresh-database.ts';
import { casesBeyondDredd } from './cases.ts';
import { startEnvironment } from './environment.ts';
import { report } from './report.ts';
import { runCases } from './run-cases.ts';

const environment = await startEnvironment(await openFreshDatabase());
const outcomes = await runCases(environment, casesBeyondDredd).finally(() => environment.stop());
report('Other named examples', casesBeyondDredd, outcomes);
