// Checks the contract in openapi/ and fails on any finding:
//   node openapi/tools/lint.ts
// Redocly reads the source files. Spectral reads bundles, because it leaves some references between files unresolved and
// skips what they refer to. The error examples are checked as derived for each operation.
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isScalar, LineCounter, parseDocument, visit } from 'yaml';
import { apis, bundleWithErrors, root } from './bundle.ts';
import { findWrongErrorExamples } from './error-example-rules.ts';
import { deriveErrorExamples } from './error-examples.ts';
import type { Document } from './merge-documents.ts';

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

function findWrongExamples(documents: Document[]): string[] {
  return documents.flatMap((document, index) =>
    findWrongErrorExamples(deriveErrorExamples(document)).map(({ rule, at, message }) => `${apis[index]} ${at} ${rule} ${message}`),
  );
}

function runSpectral(documents: Document[]): boolean {
  const directory = mkdtempSync(join(tmpdir(), 'sitekeeper-lint-'));
  try {
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

const { documents } = await bundleWithErrors();
const findings = [...findMergeKeys(), ...findWrongExamples(documents)];
for (const finding of findings) console.error(finding);
const redoclyPassed = run('redocly', 'lint', '--max-problems=1000');
const spectralPassed = runSpectral(documents);
if (findings.length > 0 || !redoclyPassed || !spectralPassed) process.exitCode = 1;
