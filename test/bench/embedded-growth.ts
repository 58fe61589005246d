// Updates 60 websites of 10 kB in the embedded database, and prints how large the data directory becomes and how long each
// statement of the maintenance takes. Arguments: how many updates (50,000), and "off" for a control without maintenance.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { createOwner } from '../../src/accounts/owner.ts';
import { openEmbedded } from '../../src/db/embedded.ts';
import { entities } from '../../src/entities.ts';

const [updates = '50000', mode = 'on'] = process.argv.slice(2);
const websites = 60;
const folder = mkdtempSync(join(tmpdir(), 'sitekeeper-growth-'));

const statements: { msg: string; ms: number }[] = [];
const log = pino({ level: 'debug' }, { write: (line) => statements.push(JSON.parse(line)) });
const database = await openEmbedded(join(folder, 'data'), entities, { onPanic: console.error, log: mode === 'off' ? undefined : log });
await createOwner(database, { email: 'owner@sitekeeper.localhost' });
await database.asUser(1, (em) =>
  em.execute(`insert into websites (user_id, domain) select 1, 'w' || n || '.example' from generate_series(1, ${websites}) n`),
);

const durations: number[] = [];
for (let n = 0; n < Number(updates); n++) {
  const start = performance.now();
  await database.asUser(1, (em) =>
    em.execute('update websites set exclude_params = ? where domain = ?', [
      randomBytes(5000).toString('hex'),
      `w${(n % websites) + 1}.example`,
    ]),
  );
  durations.push(performance.now() - start);
  if ((n + 1) % 5000 === 0) console.log(`${n + 1} updates: ${megabytesIn(folder)} MB`);
}
console.log(`data directory ${megabytesIn(folder)} MB; one update: ${quantiles(durations)}`);
for (const [message, entries] of Map.groupBy(statements, ({ msg }) => msg)) {
  console.log(`${message}: ${entries.length} times, ${quantiles(entries.map(({ ms }) => ms))}`);
}
await database.close();
rmSync(folder, { recursive: true });

function megabytesIn(path: string): number {
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Math.round(files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).blocks * 512, 0) / 1_000_000);
}

function quantiles(values: number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]?.toFixed(1);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms`;
}
