import { sql } from 'kysely';
import { hasVersion, newVersion, prepareDelete, setGiven, type WriteCondition } from '../db/rows.ts';
import { prepare } from '../db/statement.ts';
import { columnName, insertInto, updateTable } from '../db/tables.ts';
import { WebsiteEntity } from './website.entity.ts';
import { defaultSettings, type Settings } from './website.settings.ts';

const settings = Object.keys(defaultSettings) as (keyof Settings)[];

export const insertWebsite = prepare((given: { userId: number; domain: string; domainUnicode: string | null } & Settings) =>
  insertInto(WebsiteEntity).values({
    user_id: given.userId,
    domain: given.domain,
    domain_unicode: given.domainUnicode,
    ...Object.fromEntries(settings.map((setting) => [columnName(setting), given[setting]])),
  }),
);

/** Updates a website if it has one of these versions and, with privacy 2, a password. Otherwise it returns no row. */
export const updateWebsite = prepare((given: WriteCondition & Partial<Settings>) => {
  const changed = setGiven<Partial<Settings>>(WebsiteEntity, given, settings);
  return updateTable(WebsiteEntity)
    .set({ ...changed, ...newVersion })
    .where('id', '=', given.id)
    .where(hasVersion(given.versions))
    .where(sql<boolean>`(${changed.privacy} <> 2 or ${changed.password_hash} is not null)`);
});

export const deleteWebsite = prepareDelete(WebsiteEntity);
