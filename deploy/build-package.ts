// Builds dist/, the contents of the package. It must be JavaScript because Node does not strip types below node_modules.
import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';

rmSync('dist', { recursive: true, force: true });
// Files that are read at run time, such as SQL, are copied first. The compiler then adds its output.
cpSync('src', 'dist/src', { recursive: true, filter: (path) => !path.endsWith('.ts') });
execFileSync(process.execPath, ['node_modules/@typescript/native/bin/tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' });
