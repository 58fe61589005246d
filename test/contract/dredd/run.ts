// npm run contract: every operation, every declared status and every named example of both contracts, tried by Dredd on
// the real service. With TEST_DATABASE_URL on PostgreSQL, else on the embedded database.
import { existsSync } from 'node:fs';
import { openFreshDatabase } from '../../support/fresh-database.ts';
import { casesOf, titleOf } from './cases.ts';
import { runDredd } from './dredd-run.ts';
import { excluded } from './excluded.ts';
import { openWorld } from './world.ts';

const world = await openWorld(await openFreshDatabase());
const rows: Record<string, object> = {};
const complaints: string[] = [];
try {
  for (const api of ['websites', 'monitoring'] as const) {
    const declared = casesOf(api).map(titleOf);
    const outcomes = await runDredd(api, world);
    const count = (verdict: string) => outcomes.filter((outcome) => outcome.verdict === verdict).length;
    for (const { tried, verdict, reason } of outcomes) if (verdict === 'fail') complaints.push(`${titleOf(tried)}: ${reason}`);
    const ran = new Set(outcomes.map(({ tried }) => titleOf(tried)));
    complaints.push(...declared.filter((title) => !ran.has(title)).map((title) => `${title} was not tried`));
    rows[api] = {
      declared: declared.length,
      run: count('pass') + count('fail'),
      passed: count('pass'),
      failed: count('fail'),
      excluded: count('skip'),
    };
  }
} finally {
  await world.stop();
}
for (const { answer, testedIn } of excluded) if (!existsSync(testedIn)) complaints.push(`${answer} is said to be tested in ${testedIn}`);

console.table(rows);
for (const { answer, reason, testedIn } of excluded) console.log(`excluded: ${answer}, because ${reason} (${testedIn})`);
for (const complaint of complaints) console.error(complaint);
process.exitCode = complaints.length === 0 ? 0 : 1;
