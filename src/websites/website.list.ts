import type { operations } from '../../generated/types/websites.ts';
import { cachedText, columnsOf, type Statement, sql } from '../db/statement.ts';
import type { UserDatabase } from '../db/user-database.ts';
import type { Input } from '../http/operations.ts';
import { type Website, WebsiteEntity } from './website.entity.ts';

/** A website in a list. Settings that are too long for a list are null. */
export type ListedWebsite = Omit<Website, 'excludeParams' | 'excludeIps'> & { excludeParams: string | null; excludeIps: string | null };

type ListQuery = Input<operations['listWebsites']>['query'];

/** Most clients read the beginning of a list. Up to here, rows and count are read in one round trip. */
const maxCheapOffset = 1000;

/** Returns one page of the caller's websites and the number of websites on all pages. */
export async function findPage(db: UserDatabase, query: ListQuery): Promise<{ websites: ListedWebsite[]; total: number }> {
  const before = (query.page - 1) * query.per_page;
  if (before < maxCheapOffset) {
    const [websites, [counted]] = await db.query(selectRows(query, before), countMatches(query));
    return { websites, total: counted?.total ?? 0 };
  }
  const [[counted]] = await db.query(countMatches(query));
  const total = counted?.total ?? 0;
  const rows = Math.min(query.per_page, total - before);
  if (rows <= 0) return { websites: [], total };
  const after = total - before - rows;
  // Reading from the nearer end makes the last page as fast as the first.
  if (before <= after) {
    const [websites] = await db.query(selectRows(query, before));
    return { websites, total };
  }
  const [backwards] = await db.query(selectRows({ ...query, sort: query.sort === 'asc' ? 'desc' : 'asc' }, after));
  return { websites: backwards.slice(0, rows).toReversed(), total };
}

/**
 * Selects the rows of a page. Both sort columns are unique per user, so the order is total and no row appears on two pages.
 * The limit is part of the text, so that the planner sees it. The contract allows only four values, so there are few prepared statements.
 */
export function selectRows(query: ListQuery, offset: number): Statement<ListedWebsite> {
  const { condition, values } = buildCondition(query);
  const rest = `where ${condition} order by ${query.sort_by} ${query.sort} limit ${query.per_page}`;
  return offset === 0 ? selectListed(rest, values) : selectListed(`${rest} offset $${values.length + 1}`, [...values, offset]);
}

/** A page of 100 websites stays below 2 MiB. */
const maxListedBytes = 8192;

/** Quotes and line breaks take two bytes in JSON. The length is computed only for texts that can be too long. */
const listedColumns = columnsOf(WebsiteEntity, (column) =>
  column === 'exclude_params' || column === 'exclude_ips'
    ? `case when octet_length(${column}) <= ${maxListedBytes / 6} or octet_length(to_json(${column})::text) <= ${maxListedBytes} then ${column} end`
    : column,
);

function selectListed(rest: string, values: unknown[]): Statement<ListedWebsite> {
  return sql(
    cachedText(selectListed, rest, () => `select ${listedColumns} from websites ${rest}`),
    values,
  );
}

export function countMatches(query: ListQuery) {
  if (!query.search && query.favorite === undefined) return countAll;
  const { condition, values } = buildCondition(query);
  return sql<{ total: number }>(`select count(*)::int as total from websites where ${condition}`, values);
}

/** Counts all websites of the caller by reading the number that the database maintains. */
export const countAll = sql<{ total: number }>('select website_count as total from users');

function buildCondition({ search, favorite }: ListQuery): { condition: string; values: unknown[] } {
  const conditions: string[] = [];
  const values: unknown[] = [];
  if (search) {
    values.push(search.normalize('NFC').toLowerCase());
    // Domains are stored in lower case. strpos is used, because the planner underestimates the
    // matches of LIKE and chooses a slow plan, and ILIKE takes twice as long.
    conditions.push(`(strpos(domain, $${values.length}) > 0 or strpos(domain_unicode, $${values.length}) > 0)`);
  }
  // A literal condition lets the planner use the partial index of favorites. A parameter would not.
  if (favorite !== undefined) conditions.push(favorite ? 'favorite' : 'not favorite');
  return { condition: conditions.join(' and ') || 'true', values };
}
