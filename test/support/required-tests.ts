// Checks at the end of CI that no test has vanished: TEST_RECORD=<folder> node test/support/required-tests.ts
// Some tests need more than npm and are skipped without it. Each of them must have run at least once.
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RecordedTest, RunRecord } from './run-record.ts';

/** One test for everything that this machine may lack. A missing program can also remove a test without skipping it. */
export const required: { needs: string; file: string; title: string }[] = [
  {
    needs: 'network namespaces and fping',
    file: 'test/monitoring/checks/no-network.test.ts',
    title: 'without a network no check gets a reply, except from this machine (fping)',
  },
  {
    needs: 'network namespaces and ping',
    file: 'test/monitoring/checks/no-network.test.ts',
    title: 'without a network no check gets a reply, except from this machine (ping)',
  },
  { needs: 'network namespaces', file: 'test/faults/lost-network.test.ts', title: 'in a network namespace' },
  { needs: 'fping', file: 'test/net/ping.test.ts', title: 'fping pings 500 addresses with one process' },
  { needs: 'mount namespaces', file: 'test/operations/data-directory.test.ts', title: 'a read-only file system' },
  { needs: 'PostgreSQL', file: 'test/monitoring/engine/killed-worker.test.ts', title: 'killed workers' },
  { needs: 'Redis', file: 'test/limits/redis-limiters.test.ts', title: 'on Redis' },
  { needs: 'Chromium', file: 'test/browser/docs.browser.ts', title: '' },
  { needs: 'Chromium', file: 'test/browser/mails.browser.ts', title: '' },
  { needs: 'Chromium, curl and Python', file: 'test/browser/samples.browser.ts', title: '' },
  { needs: 'Patroni, etcd and HAProxy', file: 'test/operations/failover.test.ts', title: 'two serving processes' },
  { needs: 'Prometheus', file: 'test/operations/stopped-checks.test.ts', title: 'one serving process and one worker' },
  { needs: 'nginx', file: 'test/operations/rolling-restart.test.ts', title: '' },
];

/** Tests that need not run, with the reason. Some need not run only for an ordinary user. */
const optional: { file: string; title: string; reason: string; unlessRoot?: true }[] = [
  {
    file: 'test/operations/memory-limit.test.ts',
    title: 'needs control groups',
    reason: 'an ordinary user cannot create a control group, and a container has none',
  },
  {
    file: 'test/operations/backup.test.ts',
    title: 'a mount point is rejected',
    reason: 'an ordinary user cannot mount',
    unlessRoot: true,
  },
];

const yearMs = 365 * 24 * 3600 * 1000;

interface Circumstances {
  nowMs: number;
  /** Every test file. */
  files: string[];
  isRoot: boolean;
}

export function problemsOf(records: RunRecord[], { nowMs, files, isRoot }: Circumstances): string[] {
  const tests = records.flatMap((record) => record.tests);
  const nameOf = ({ file, title }: RecordedTest) => `${file} > ${title}`;
  const ran = new Set(tests.filter(({ state }) => state === 'passed').map(nameOf));
  const isOptional = (test: RecordedTest) =>
    optional.some(({ file, title, unlessRoot }) => test.file === file && test.title.startsWith(title) && !(unlessRoot && isRoot));
  const ranFiles = new Set(tests.filter(({ state }) => state === 'passed').map(({ file }) => file));
  const vanished = new Set(tests.filter((test) => !ran.has(nameOf(test)) && !isOptional(test)).map(nameOf));
  const missing = required.filter((each) => ![...ran].some((name) => name.startsWith(`${each.file} > ${each.title}`)));
  const isAhead = records.some(({ time, tests }) => time - nowMs > 9 * yearMs && tests.length > 0);
  return [
    ...[...vanished].map((name) => `did not pass in any run: ${name}`),
    ...files.filter((file) => !ranFiles.has(file)).map((file) => `no test has run: ${file}`),
    ...missing.map(({ needs, file, title }) => `did not run, needs ${needs}: ${file} > ${title}`),
    ...(isAhead ? [] : ['no test ran with the clock ten years ahead, needs faketime']),
  ];
}

if (import.meta.main) {
  const folder = process.env.TEST_RECORD ?? '';
  const records = readdirSync(folder).map((name): RunRecord => JSON.parse(readFileSync(join(folder, name), 'utf8')));
  const files = globSync('test/**/*.{test,browser}.ts').filter((file) => !file.endsWith('.long.test.ts') && !file.endsWith('/browser.ts'));
  const problems = problemsOf(records, { nowMs: Date.now(), files, isRoot: process.getuid?.() === 0 });
  for (const problem of problems) console.error(problem);
  const count = new Set(records.flatMap(({ tests }) => tests.map(({ file, title }) => `${file} ${title}`))).size;
  console.log(`${records.length} runs, ${count} different tests, ${problems.length} skipped or missing.`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
