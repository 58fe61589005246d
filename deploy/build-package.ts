// Makes dist/, which is what a package carries: Node strips no types below node_modules.
import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';

rmSync('dist', { recursive: true, force: true });
// What is read at run time, such as SQL, first; what is compiled goes on top.
cpSync('src', 'dist/src', { recursive: true, filter: (path) => !path.endsWith('.ts') });
execFileSync(process.execPath, ['node_modules/@typescript/native/bin/tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' });
