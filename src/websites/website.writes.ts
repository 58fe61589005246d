import { columnsOf, type Statement, sql } from '../db/statement.ts';
import { unicodeForm } from './domain.ts';
import { type Website, WebsiteEntity } from './website.entity.ts';
import type { Settings } from './website.settings.ts';

const columns = columnsOf(WebsiteEntity);

const insertText = `insert into websites
    (user_id, domain, domain_unicode, privacy, password_hash, email, exclude_bots, exclude_params, exclude_ips)
  values ($1, $2, $3, $4, $5, $6, $7, coalesce($8, ''), coalesce($9, ''))
  returning ${columns}`;

export function insertWebsite(userId: number, domain: string, settings: Partial<Settings>): Statement<Website> {
  const { privacy, passwordHash, email, excludeBots, excludeParams, excludeIps } = settings;
  return sql(insertText, [userId, domain, unicodeForm(domain), privacy, passwordHash, email, excludeBots, excludeParams, excludeIps]);
}

// Absent fields keep their value. updated_at is clock_timestamp(): now() is the start of the transaction, which may lie before
// the last committed change if this transaction had to wait.
const updateText = `update websites set
    privacy = coalesce($2::smallint, privacy),
    password_hash = case when $3::boolean then $4 else password_hash end,
    email = coalesce($5::smallint, email),
    exclude_bots = coalesce($6::smallint, exclude_bots),
    exclude_params = coalesce($7, exclude_params),
    exclude_ips = coalesce($8, exclude_ips),
    favorite = coalesce($9::boolean, favorite),
    version = version + 1,
    updated_at = clock_timestamp()
  where id = $1 and ($10::int[] is null or version = any ($10::int[]))
    and (coalesce($2::smallint, privacy) <> 2 or case when $3::boolean then $4 else password_hash end is not null)
  returning ${columns}`;

/** Updates a website if it has one of these versions and, with privacy 2, a password. Otherwise it returns no row. */
export function updateWebsite(id: number, settings: Partial<Settings>, versions: number[] | undefined): Statement<Website> {
  const { privacy, passwordHash, email, excludeBots, excludeParams, excludeIps, favorite } = settings;
  const hasPassword = passwordHash !== undefined;
  return sql(updateText, [
    id,
    privacy,
    hasPassword,
    passwordHash,
    email,
    excludeBots,
    excludeParams,
    excludeIps,
    favorite,
    toArrayLiteral(versions),
  ]);
}

export function deleteWebsite(id: number, versions: number[] | undefined): Statement<{ id: number }> {
  const text = 'delete from websites where id = $1 and ($2::int[] is null or version = any ($2::int[])) returning id';
  return sql(text, [id, toArrayLiteral(versions)]);
}

function toArrayLiteral(versions: number[] | undefined): string | undefined {
  return versions && `{${versions.join(',')}}`;
}
