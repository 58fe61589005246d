import { dirname } from 'node:path';
import type { Fault } from './fault.ts';
import type { Verdict } from './verdict.ts';

/** The share of all faults that the tests must catch. */
const minCaught = 0.95;

/** Returns a table with the faults of each folder, and the survivors with their reasons. */
export function formatTable(verdicts: ReadonlyMap<Fault, Verdict>): string {
  const folders = Map.groupBy([...verdicts], ([{ file }]) => dirname(file));
  const rows = [...folders].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([folder, group]) => formatRow(folder, group));
  const survivors = [...verdicts].filter(([, { kind }]) => kind === 'survived');
  return [
    '| folder | planted | caught |',
    '|---|---|---|',
    ...rows,
    formatRow('all', [...verdicts]),
    '',
    ...survivors.map(([{ title, file, survives = 'no reason' }]) => `Survivor: ${title} (${file}): ${survives}`),
  ].join('\n');
}

function formatRow(name: string, group: [Fault, Verdict][]): string {
  return `| ${name} | ${group.length} | ${group.filter(([, { kind }]) => kind === 'caught').length} |`;
}

/** Returns why the run fails. */
export function findProblems(all: readonly Fault[], verdicts: ReadonlyMap<Fault, Verdict>): string[] {
  const problems = [...verdicts].flatMap(([fault, verdict]) => problemOf(fault, verdict) ?? []);
  const survivors = all.filter(({ survives }) => survives !== undefined).length;
  if (survivors > all.length * (1 - minCaught))
    problems.push(`${survivors} of ${all.length} faults are listed as survivors, which is too many.`);
  return problems;
}

/** Returns why a fault makes the run fail. */
export function problemOf({ title, survives }: Fault, verdict: Verdict): string | undefined {
  if (verdict.kind === 'invalid') return `"${title}" could not be judged: ${verdict.reason}`;
  if (verdict.kind === 'survived' && survives === undefined)
    return `"${title}" survives. Add a test that catches it, or say in "survives" why none can.`;
  if (verdict.kind === 'caught' && survives !== undefined) return `"${title}" is listed as a survivor, but "${verdict.by}" catches it.`;
  return undefined;
}
