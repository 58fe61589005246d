// While a deployment is brought to a new version, processes of the older one go on working on the migrated database.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { migrationNames, migrationsFolder } from '../../src/db/migrate.ts';
import { readMigration } from '../support/migrations.ts';

/** Made before anybody ran the service. */
const first = 6;
const unused = /^-- unused since \d+\.\d+\.\d+/m;
const takesAway =
  /\bdrop (table|column|function|view|sequence)\b|\brename\b|\balter (column )?\w+ (set data )?type\b|\bset not null\b|\badd column [^,;]*\bnot null\b(?![^,;]*\b(default|generated)\b)/i;

test.each(migrationNames.slice(first))('%s takes nothing away that the version before uses', (name) => {
  const mayTakeAway = unused.test(readFileSync(join(migrationsFolder, `${name}.sql`), 'utf8'));
  expect(mayTakeAway ? [] : readMigration(name).match(takesAway)).toEqual(mayTakeAway ? [] : null);
});

test.each([
  'alter table websites drop column email;',
  'alter table websites rename domain to host;',
  'alter table websites alter column domain type varchar(10);',
  'alter table websites alter column password_hash set not null;',
  'alter table websites add column colour text not null;',
  'drop function door_find_api_key;',
])('"%s" would be noticed', (statement) => {
  expect(takesAway.test(statement)).toBe(true);
});

test.each([
  'alter table websites add column colour text;',
  `alter table websites add column colour text not null default 'red';`,
  'create table colours (id bigint primary key);',
  'create index websites_colour on websites (colour);',
])('"%s" may be added', (statement) => {
  expect(takesAway.test(statement)).toBe(false);
});
