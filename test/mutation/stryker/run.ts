// Runs Stryker: npm run test:mutation:modules. The results of this run are the start of the next one, and are committed.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const results = join(import.meta.dirname, 'results.json');
const config = join(import.meta.dirname, 'stryker.config.mjs');
/** The share of mutants that the tests of each folder must detect, in percent. */
const minScore = 90;
const { status } = spawnSync('stryker', ['run', config, ...process.argv.slice(2)], { stdio: 'inherit' });
// These contain paths of this machine. Stryker does not read them.
const dropped = ['projectRoot', 'config', 'statusReason'];
const report: Report = JSON.parse(readFileSync(results, 'utf8'), (key, value) => (dropped.includes(key) ? undefined : value));
// The order of files and the ids of tests depend on which test ended first. Without that, a run that changes nothing does not
// change the file.
report.files = sortKeys(report.files);
report.testFiles = sortKeys(report.testFiles);
const testsById = new Map(
  Object.values(report.testFiles)
    .flatMap(({ tests }) => tests)
    .map(({ id }, index) => [id, String(index)]),
);
const renumber = (ids: string[] = []) => ids.map((id) => testsById.get(id) ?? id).toSorted((a, b) => Number(a) - Number(b));
for (const { tests } of Object.values(report.testFiles)) for (const test of tests) test.id = testsById.get(test.id) ?? test.id;
for (const { mutants } of Object.values(report.files)) {
  for (const mutant of mutants) {
    mutant.coveredBy = renumber(mutant.coveredBy);
    mutant.killedBy = renumber(mutant.killedBy);
  }
}
writeFileSync(results, `${JSON.stringify(report)}\n`);

const folders = Map.groupBy(Object.entries(report.files), ([file]) => file.split('/')[1] ?? '');
console.log('| folder | mutants | detected | survived | not covered | invalid | score |\n|---|---|---|---|---|---|---|');
let failed = status !== 0;
for (const [folder, files] of folders) {
  const mutants = files.flatMap(([, file]) => file.mutants);
  const count = (...states: string[]) => mutants.filter((mutant) => states.includes(mutant.status)).length;
  const [detected, survived, uncovered] = [count('Killed', 'Timeout'), count('Survived'), count('NoCoverage')];
  const judged = detected + survived + uncovered;
  const score = (100 * detected) / judged;
  console.log(
    `| ${folder} | ${mutants.length} | ${detected} | ${survived} | ${uncovered} | ${mutants.length - judged} | ${score.toFixed(1)} % |`,
  );
  failed ||= !(score >= minScore);
}
process.exitCode = failed ? 1 : 0;

interface Report {
  files: Record<string, { mutants: { status: string; coveredBy?: string[]; killedBy?: string[] }[] }>;
  testFiles: Record<string, { tests: { id: string }[] }>;
}

function sortKeys<Value>(object: Record<string, Value>): Record<string, Value> {
  return Object.fromEntries(Object.entries(object).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
