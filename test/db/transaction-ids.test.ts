import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { openEmbedded, startPglite } from '../../src/db/embedded.ts';
import { entities } from '../../src/entities.ts';

test('the embedded database never runs out of transaction ids: every table is frozen in time, and there is no other database', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sitekeeper-ids-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const query = async (...statements: string[]) => {
    const pglite = await startPglite({ dataDir: join(folder, 'postgres') });
    const results: unknown[] = [];
    for (const sql of statements) results.push((await pglite.query(sql)).rows);
    await pglite.close();
    return results;
  };
  await (await openEmbedded(folder, entities)).close();
  // What the tables would look like after a hundred million transactions without maintenance.
  const age = `
    update pg_class set relfrozenxid = ((txid_current() + ${2 ** 32 - 100_000_000}) % ${2 ** 32})::text::xid where relfrozenxid <> '0'::xid`;
  const ages = "select min(age(relfrozenxid)) as youngest, max(age(relfrozenxid)) as oldest from pg_class where relfrozenxid <> '0'::xid";
  expect(await query(age, ages)).toEqual([[], [{ youngest: 100_000_001, oldest: 100_000_001 }]]);

  await (await openEmbedded(folder, entities, { log: pino({ level: 'silent' }) })).close();
  const young = "select max(age(relfrozenxid)) < 1000 as young from pg_class where relfrozenxid <> '0'::xid";
  const databases = 'select datname, age(datfrozenxid) < 1000 as young from pg_database';
  expect(await query(young, databases)).toEqual([[{ young: true }], [{ datname: 'postgres', young: true }]]);
}, 120_000);
