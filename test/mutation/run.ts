// Plants faults in copies of the project, one at a time, and runs the tests named beside each: npm run test:mutation:faults.
// --only <text> selects the faults whose title or file contains the text, --changed <commit> those whose file or tests have
// changed since then. --jobs <number> sets how many run at a time.
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { changedSince, copyProject, removeCopy } from './checkout.ts';
import { type Fault, testFilesOf } from './fault.ts';
import { faults } from './faults.ts';
import { findProblems, formatTable } from './report.ts';
import { Runner } from './runner.ts';
import { controlError, judge, type Verdict } from './verdict.ts';

/** If it is not known what has changed, one of so many faults is planted. */
const sampleStep = 12;

const { values: options } = parseArgs({ options: { only: { type: 'string' }, changed: { type: 'string' }, jobs: { type: 'string' } } });

const queue = interleave(selectFaults());
/** The error of each selection of tests without a fault. */
const controls = new Map<string, Promise<string | undefined>>();
const verdicts = new Map<Fault, Verdict>();
const startMs = performance.now();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1)); // The copies are removed at exit.
await Promise.all(Array.from({ length: Number(options.jobs ?? availableParallelism()) }, plantFaults));
console.log(`\n${formatTable(verdicts)}\n${Math.round((performance.now() - startMs) / 1000)} s`);
const problems = findProblems(faults, verdicts);
for (const problem of problems) console.error(problem);
process.exit(problems.length > 0 ? 1 : 0);

function selectFaults(): Fault[] {
  const { only = '', changed: base } = options;
  const chosen = faults.filter(({ title, file }) => title.includes(only) || file.includes(only));
  if (base === undefined) return chosen;
  const changed = changedSince(base);
  if (changed) return chosen.filter((fault) => [fault.file, ...testFilesOf(fault)].some((file) => changed.includes(file)));
  console.log(`There is no commit "${base}" here, so a fixed sample of the faults is planted.`);
  return chosen.filter((_, index) => index % sampleStep === 0);
}

/** Mixes faults with different tests: those with the same tests wait until these have run without a fault. */
function interleave(chosen: Fault[]): Fault[] {
  const groups = [...Map.groupBy(chosen, selectionOf).values()];
  const longest = Math.max(0, ...groups.map(({ length }) => length));
  return Array.from({ length: longest }, (_, index) => groups.flatMap((group) => group[index] ?? [])).flat();
}

function selectionOf({ needs, check, tests }: Fault): string {
  return [needs, check, tests].join(' ');
}

/** Takes faults from the queue until it is empty. */
async function plantFaults(): Promise<void> {
  if (queue.length === 0) return;
  const folder = copyProject();
  const runner = new Runner(folder);
  process.once('exit', () => {
    runner.close();
    removeCopy(folder);
  });
  for (let fault = queue.shift(); fault; fault = queue.shift()) {
    const verdict = await plantFault(runner, fault);
    verdicts.set(fault, verdict);
    const detail = verdict.kind === 'invalid' ? `: ${verdict.reason}` : '';
    console.log(`${verdict.kind.padEnd(8)} ${fault.title} (${fault.file})${detail}`);
  }
}

async function plantFault(runner: Runner, fault: Fault): Promise<Verdict> {
  const selection = selectionOf(fault);
  const control = controls.get(selection) ?? runner.run(fault, { isControl: true }).then(controlError);
  controls.set(selection, control);
  const error = await control;
  if (error !== undefined) return { kind: 'invalid', reason: `its tests fail without it: ${error}` };
  return judge(await runner.run(fault, { isControl: false }));
}
