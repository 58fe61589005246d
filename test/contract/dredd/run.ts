// npm run contract: every operation, every declared status and every named example of both contracts, tried by Dredd on
// the real service. With TEST_DATABASE_URL on PostgreSQL, else on the embedded database.
import { existsSync } from 'node:fs';
import { type Api, bundles } from '../../support/contract-operations.ts';
import { dereference } from '../../support/dereference.ts';
import { openFreshDatabase } from '../../support/fresh-database.ts';
import { titleOf } from './cases.ts';
import { type Outcome, runDredd } from './dredd-run.ts';
import { excluded } from './excluded.ts';
import { openWorld } from './world.ts';

const world = await openWorld(await openFreshDatabase());
const outcomes = await runDredd(world).finally(() => world.stop());
const complaints = outcomes.filter(({ verdict }) => verdict === 'fail').map(({ tried, reason }) => `${titleOf(tried)}: ${reason}`);
const counts = { websites: summary('websites'), monitoring: summary('monitoring') };
console.table(counts);
for (const { answer, reason, testedIn } of excluded) {
  console.log(`excluded: ${answer}, because ${reason} (${testedIn})`);
  if (!existsSync(testedIn)) complaints.push(`There is no ${testedIn}, where ${answer} is said to be tested.`);
}
for (const complaint of complaints) console.error(complaint);
const on = process.env.TEST_DATABASE_URL ? 'PostgreSQL' : 'the embedded database';
for (const [api, { run, failed }] of Object.entries(counts)) console.log(`Dredd on ${on}, ${api}: ${run} transactions, ${failed} failed`);
process.exitCode = complaints.length === 0 ? 0 : 1;

function summary(api: Api) {
  const own = outcomes.filter(({ tried }) => tried.operation.api === api);
  const count = (verdict: Outcome['verdict']) => own.filter((outcome) => outcome.verdict === verdict).length;
  const declared = declaredIn(api);
  const transactions = new Set(own.map(({ tried }) => titleOf(tried))).size;
  if (transactions < declared) complaints.push(`The contract of ${api} declares ${declared}, but only ${transactions} were tried.`);
  return { declared, run: count('pass') + count('fail'), passed: count('pass'), failed: count('fail'), excluded: count('skip') };
}

/** Counted anew, so that a case which the run does not know is missed. */
function declaredIn(api: Api): number {
  type Examples = { examples?: object };
  type ApiDefinition = {
    requestBody?: { content: Record<string, Examples> };
    responses: Record<string, { content?: Record<string, Examples> }>;
  };
  const { paths } = dereference(bundles[api]) as { paths: Record<string, Record<string, ApiDefinition>> };
  const count = (content: Record<string, Examples> = {}) =>
    Object.values(content).flatMap(({ examples = {} }) => Object.keys(examples)).length;
  return Object.values(paths)
    .flatMap((methods) => Object.values(methods).filter((described) => 'responses' in described))
    .flatMap(({ requestBody, responses }) =>
      Object.entries(responses).map(([status, { content }]) =>
        Math.max(1, count(content), status < '300' ? count(requestBody?.content) : 0),
      ),
    )
    .reduce((sum, number) => sum + number, 0);
}
