// Which faults were judged, and with what content of their files, so that CI plants only those of changed files again.
import { hash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type Fault, testFilesOf } from './fault.ts';

const recordFile = 'test/mutation/judged.json';

/** The digest of each fault that was judged, by its title. */
export type JudgedFaults = Record<string, string>;

export function readRecord(): JudgedFaults {
  return existsSync(recordFile) ? JSON.parse(readFileSync(recordFile, 'utf8')) : {};
}

export function writeRecord(record: JudgedFaults) {
  const sorted = Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(recordFile, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
}

/** Changes when the fault, its file or one of its tests does. */
export function digestOf(fault: Fault): string {
  const files = [fault.file, ...testFilesOf(fault)].map((file) => readFileSync(file, 'utf8'));
  return hash('sha256', JSON.stringify([fault, files])).slice(0, 16);
}
