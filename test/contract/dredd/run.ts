// npm run contract: Dredd tests every operation, every declared status and every named example of both contracts on the
// real service. It uses PostgreSQL if TEST_DATABASE_URL is set, and the embedded database otherwise.
import { existsSync } from 'node:fs';
import { type Api, bundles } from '../../support/contract-operations.ts';
import { dereference } from '../../support/dereference.ts';
import { openFreshDatabase } from '../../support/fresh-database.ts';
import { titleOf } from './cases.ts';
import { type Outcome, runDredd } from './dredd-run.ts';
import { startEnvironment } from './environment.ts';
import { excluded } from './excluded.ts';

const environment = await startEnvironment(await openFreshDatabase());
const outcomes = await runDredd(environment).finally(() => environment.stop());
const errors = outcomes.filter(({ result }) => result === 'fail').map(({ testCase, reason }) => `${titleOf(testCase)}: ${reason}`);
const counts = { websites: summary('websites'), monitoring: summary('monitoring') };
console.table(counts);
for (const { example, reason, testedIn } of excluded) {
  console.log(`excluded: ${example}, because ${reason} (tested in ${testedIn})`);
  if (!existsSync(testedIn)) errors.push(`${example} is excluded because ${testedIn} tests it, but that file does not exist.`);
}
for (const error of errors) console.error(error);
const database = process.env.TEST_DATABASE_URL ? 'PostgreSQL' : 'the embedded database';
// .ci/contract turns these lines into rows of its table.
for (const [api, { run, failed }] of Object.entries(counts)) {
  console.log(`Dredd on ${database}, ${api}: ${run} transactions, ${failed} failed`);
}
process.exitCode = errors.length === 0 ? 0 : 1;

function summary(api: Api) {
  const own = outcomes.filter(({ testCase }) => testCase.operation.api === api);
  const count = (result: Outcome['result']) => own.filter((outcome) => outcome.result === result).length;
  const declared = declaredIn(api);
  const tested = new Set(own.map(({ testCase }) => titleOf(testCase))).size;
  if (tested < declared) errors.push(`The ${api} contract declares ${declared} cases, but only ${tested} were tested.`);
  return { declared, run: count('pass') + count('fail'), passed: count('pass'), failed: count('fail'), excluded: count('skip') };
}

/** Counts the declared cases independently of cases.ts, so that a case which cases.ts overlooks is detected. */
function declaredIn(api: Api): number {
  type Examples = { examples?: object };
  type OperationDefinition = {
    requestBody?: { content: Record<string, Examples> };
    responses: Record<string, { content?: Record<string, Examples> }>;
  };
  const { paths } = dereference(bundles[api]) as { paths: Record<string, Record<string, OperationDefinition>> };
  const count = (content: Record<string, Examples> = {}) =>
    Object.values(content).flatMap(({ examples = {} }) => Object.keys(examples)).length;
  return Object.values(paths)
    .flatMap((methods) => Object.values(methods).filter((definition) => 'responses' in definition))
    .flatMap(({ requestBody, responses }) =>
      Object.entries(responses).map(([status, { content }]) =>
        Math.max(1, count(content), status < '300' ? count(requestBody?.content) : 0),
      ),
    )
    .reduce((sum, number) => sum + number, 0);
}
