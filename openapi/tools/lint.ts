// Checks the contract in openapi/ and fails on any finding:
//   node openapi/tools/lint.ts
// Redocly reads the source files. Spectral reads bundles, because it leaves some references between files unresolved and
// skips what they refer to.
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isScalar, LineCounter, parseDocument, visit } from 'yaml';
import { apis, bundleWithErrors, root } from './bundle.ts';

/** Finds YAML merge keys ("<<"), which tools interpret differently. Aliases of whole values are fine. */
function findMergeKeys(): string[] {
  return globSync('openapi/**/*.yaml', { cwd: root }).flatMap((file) => {
    const findings: string[] = [];
    const lineCounter = new LineCounter();
    visit(parseDocument(readFileSync(join(root, file), 'utf8'), { lineCounter }), {
      Pair(_, { key }) {
        if (!isScalar(key) || key.value !== '<<') return;
        findings.push(
          `${file}:${lineCounter.linePos(key.range?.[0] ?? 0).line} sitekeeper-no-merge-keys Write out the fields instead of merging them.`,
        );
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
  const directory = mkdtempSync(join(tmpdir(), 'sitekeeper-lint-'));
  try {
    const { documents } = await bundleWithErrors();
    const files = documents.map((document, index) => {
      const file = join(directory, `${apis[index]}.json`);
      writeFileSync(file, JSON.stringify(document, null, 2));
      return file;
    });
    return run('spectral', 'lint', '--ruleset=.spectral.yaml', '--fail-severity=hint', ...files);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const mergeKeys = findMergeKeys();
for (const finding of mergeKeys) console.error(finding);
const redoclyPassed = run('redocly', 'lint', '--max-problems=1000');
const spectralPassed = await runSpectral();
if (mergeKeys.length > 0 || !redoclyPassed || !spectralPassed) process.exitCode = 1;
