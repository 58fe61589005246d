// Which faults were judged, and with what content of their files, so that CI plants only those of changed files again.
import { hash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { checks, type Fault, testFilesOf } from './fault.ts';

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

/** Changes when the fault, its file, one of its tests or what its check reads does. What the tests share is not part of it. */
export function digestOf(fault: Fault): string {
  const read = fault.check ? checks[fault.check].reads : [];
  // A test file that does not exist is reported when the fault is planted.
  const files = [fault.file, ...testFilesOf(fault), ...read].map((file) => (existsSync(file) ? readFileSync(file, 'utf8') : ''));
  return hash('sha256', JSON.stringify([fault, files])).slice(0, 16);
}
