// Checks the contract in openapi/ and fails on any finding:
//   node openapi/tools/lint.ts
// Redocly reads the files as they are. Spectral reads bundles, because of references between files it leaves some
// unresolved and skips what stands there.
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { bundle, loadConfig } from '@redocly/openapi-core';
import { isScalar, LineCounter, parseDocument, visit } from 'yaml';

const root = resolve(import.meta.dirname, '../..');
const apis = ['websites', 'monitoring'];

/** Tools do not agree on what "<<" means. Aliases of whole values are fine. */
function findMergeKeys(): string[] {
  return globSync('openapi/**/*.yaml', { cwd: root }).flatMap((file) => {
    const findings: string[] = [];
    const lineCounter = new LineCounter();
    visit(parseDocument(readFileSync(join(root, file), 'utf8'), { lineCounter }), {
      Pair(_, { key }) {
        if (!isScalar(key) || key.value !== '<<') return;
        findings.push(`${file}:${lineCounter.linePos(key.range?.[0] ?? 0).line} sitekeeper-no-merge-keys Write the fields out.`);
      },
    });
    return findings;
  });
}

function run(tool: string, ...args: string[]): boolean {
  const env = { ...process.env, REDOCLY_SUPPRESS_NOTIFICATIONS: 'true' };
  const { status, error } = spawnSync(join(root, 'node_modules/.bin', tool), args, { cwd: root, env, stdio: 'inherit' });
  if (error) throw error;
  return status === 0;
}

async function runSpectral(): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'sitekeeper-lint-'));
  try {
    const config = await loadConfig({ configPath: join(root, 'redocly.yaml') });
    const files: string[] = [];
    for (const api of apis) {
      const { bundle: bundled } = await bundle({ ref: join(root, 'openapi', api, 'openapi.yaml'), config });
      const file = join(folder, `${api}.json`);
      writeFileSync(file, JSON.stringify(bundled.parsed, null, 2));
      files.push(file);
    }
    return run('spectral', 'lint', '--ruleset=.spectral.yaml', '--fail-severity=hint', ...files);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const mergeKeys = findMergeKeys();
for (const finding of mergeKeys) console.error(finding);
const redoclyIsContent = run('redocly', 'lint', '--max-problems=1000');
const spectralIsContent = await runSpectral();
if (mergeKeys.length > 0 || !redoclyIsContent || !spectralIsContent) process.exitCode = 1;
