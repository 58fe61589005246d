// Runs Stryker: npm run test:mutation:modules. The results of this run are the start of the next one, and are committed.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const results = join(import.meta.dirname, 'results.json');
const config = join(import.meta.dirname, 'stryker.config.mjs');
const { status } = spawnSync('stryker', ['run', config, ...process.argv.slice(2)], { stdio: 'inherit' });
// These contain paths of this machine. Stryker does not read them.
const dropped = ['projectRoot', 'config', 'statusReason'];
const report = JSON.parse(readFileSync(results, 'utf8'), (key, value) => (dropped.includes(key) ? undefined : value));
writeFileSync(results, `${JSON.stringify(report)}\n`);
process.exitCode = status ?? 1;
