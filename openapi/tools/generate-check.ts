// Generates everything into a temporary directory and fails if it differs from generated/.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './bundle.ts';

const fresh = mkdtempSync(join(tmpdir(), 'sitekeeper-generate-check-'));
try {
  execFileSync(process.execPath, [join(import.meta.dirname, 'generate.ts'), '--out', fresh], { cwd: root, stdio: 'inherit' });
  // These files are left by a build of the client and are not generated.
  const buildOutput = ['dist', 'node_modules', 'package-lock.json', '*.tgz'].map((name) => `--exclude=${name}`);
  const { status, stdout } = spawnSync('diff', ['--recursive', '--brief', ...buildOutput, join(root, 'generated'), fresh], {
    encoding: 'utf8',
  });
  if (status !== 0) {
    console.error(`generated/ does not match the contract. Run "npm run generate" and commit the result.\n${stdout}`);
    process.exitCode = 1;
  } else {
    console.log('generated/ matches the contract.');
  }
} finally {
  rmSync(fresh, { recursive: true });
}
