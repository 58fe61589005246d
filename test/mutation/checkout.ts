import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Copies the project to a temporary folder, so that a fault never touches the checkout. Returns the folder. */
export function copyProject(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sitekeeper-mutation-')));
  const files = git('ls-files', '-z', '--cached', '--others', '--exclude-standard').split('\0');
  for (const file of files.filter((name) => name !== '' && name !== 'node_modules' && existsSync(name))) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(file, join(folder, file), { verbatimSymlinks: true });
  }
  symlinkSync(realpathSync('node_modules'), join(folder, 'node_modules'));
  return folder;
}

export function removeCopy(folder: string) {
  rmSync(folder, { recursive: true, force: true });
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, stdio: ['ignore', 'pipe', 'ignore'] });
}
