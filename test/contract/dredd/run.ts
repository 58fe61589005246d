// npm run contract: gives both bundles to Dredd as they are. Dredd makes a transaction of every operation and declared status.
import { type Api, bundles } from '../../support/contract-operations.ts';
import { openFreshDatabase } from '../../support/fresh-database.ts';
import { casesOfDredd } from '../cases/cases.ts';
import { startEnvironment } from '../cases/environment.ts';
import { report } from '../cases/report.ts';
import { runDredd } from './dredd-run.ts';

const environment = await startEnvironment(await openFreshDatabase());
const outcomes = await runDredd(environment).finally(() => environment.stop());
for (const api of ['websites', 'monitoring'] as const) {
  const own = outcomes.filter(({ testCase }) => testCase.operation.api === api);
  if (own.length !== declaredResponses(api)) {
    console.error(`The ${api} bundle declares ${declaredResponses(api)} responses, but Dredd ran ${own.length} transactions.`);
    process.exitCode = 1;
  }
  report(
    `Dredd, ${api}`,
    casesOfDredd.filter(({ operation }) => operation.api === api),
    own,
  );
}

/** Counts the declared responses independently of cases.ts, so that one which cases.ts overlooks is detected. */
function declaredResponses(api: Api): number {
  const items: object[] = Object.values(bundles[api].paths);
  const operations: object[] = items.flatMap((item) => Object.values(item));
  return operations.flatMap((operation) => ('responses' in operation ? Object.keys(operation.responses ?? {}) : [])).length;
}
