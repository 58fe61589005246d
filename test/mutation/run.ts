// Plants faults in copies of the project, one at a time, and runs the tests named beside each: npm run test:mutation:faults.
// --only <text> selects the faults whose title or file contains the text, --changed those that were not judged yet, or whose file
// or tests have changed since. --jobs <number> sets how many run at a time.
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { copyProject, removeCopy } from './checkout.ts';
import type { Fault } from './fault.ts';
import { faults } from './faults.ts';
import { digestOf, readRecord, writeRecord } from './record.ts';
import { findProblems, formatTable, problemOf } from './report.ts';
import { Runner } from './runner.ts';
import { controlError, judge, type Verdict } from './verdict.ts';

const { values: options } = parseArgs({ options: { only: { type: 'string' }, changed: { type: 'boolean' }, jobs: { type: 'string' } } });

const record = readRecord();
/** Taken before the run, because somebody may edit the files meanwhile. */
const digests = new Map(faults.map((fault) => [fault, digestOf(fault)]));
const selected = selectFaults();
if (selected.length === 0 && options.only !== undefined && !options.changed) {
  console.error(`No fault has "${options.only}" in its title or file.`);
  process.exit(1);
}
const queue = interleave(selected);
/** The error of each selection of tests without a fault. */
const controls = new Map<string, Promise<string | undefined>>();
const verdicts = new Map<Fault, Verdict>();
const startMs = performance.now();
// At exit the copies are removed and the record is written, also if the run is interrupted.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
process.once('exit', () => writeRecord(Object.fromEntries(faults.flatMap(recordEntry))));
await Promise.all(Array.from({ length: Number(options.jobs ?? availableParallelism()) }, plantFaults));
console.log(`\n${formatTable(verdicts)}\n${Math.round((performance.now() - startMs) / 1000)} s`);
const problems = findProblems(faults, verdicts);
for (const problem of problems) console.error(problem);
process.exit(problems.length > 0 ? 1 : 0);

function selectFaults(): Fault[] {
  const { only = '', changed } = options;
  const chosen = faults.filter(({ title, file }) => title.includes(only) || file.includes(only));
  return changed ? chosen.filter((fault) => record[fault.title] !== digests.get(fault)) : chosen;
}

/** A fault that was not planted keeps its entry. One that failed has none. */
function recordEntry(fault: Fault): [title: string, digest: string][] {
  const verdict = verdicts.get(fault);
  const digest = verdict ? digests.get(fault) : record[fault.title];
  return digest === undefined || (verdict && problemOf(fault, verdict)) ? [] : [[fault.title, digest]];
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
    const detail = verdict.kind === 'invalid' ? `: ${verdict.reason}` : verdict.kind === 'caught' ? ` by "${verdict.by}"` : '';
    console.log(`${verdict.kind.padEnd(8)} ${fault.title} (${fault.file})${detail}`);
  }
}

async function plantFault(runner: Runner, fault: Fault): Promise<Verdict> {
  const selection = selectionOf(fault);
  const control = controls.get(selection) ?? runner.run(fault, { isControl: true }).then(controlError);
  controls.set(selection, control);
  const error = await control;
  if (error !== undefined) return { kind: 'invalid', reason: `its tests do not pass without it: ${error}` };
  return judge(await runner.run(fault, { isControl: false }));
}
