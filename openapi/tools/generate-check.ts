// Makes everything again in another folder and fails on any difference from what is committed in generated/.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './bundle.ts';

const fresh = mkdtempSync(join(tmpdir(), 'sitekeeper-generate-check-'));
try {
  execFileSync(process.execPath, [join(import.meta.dirname, 'generate.ts'), '--out', fresh], { cwd: root, stdio: 'inherit' });
  // What building the client leaves there is no part of it.
  const leftovers = ['dist', 'node_modules', 'package-lock.json', '*.tgz'].map((name) => `--exclude=${name}`);
  const { status, stdout } = spawnSync('diff', ['--recursive', '--brief', ...leftovers, join(root, 'generated'), fresh], {
    encoding: 'utf8',
  });
  if (status !== 0) {
    console.error(`generated/ is not what the contract gives. Run "npm run generate" and commit the result.\n${stdout}`);
    process.exitCode = 1;
  } else {
    console.log('generated/ is what the contract gives.');
  }
} finally {
  rmSync(fresh, { recursive: true });
}
