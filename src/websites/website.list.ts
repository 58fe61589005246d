import { sql } from 'kysely';
import type { operations } from '../../generated/types/websites.ts';
import { prepare, type Statement } from '../db/statement.ts';
import { columnsOf, tables } from '../db/tables.ts';
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

interface Given {
  search: string;
  offset: number;
}

const preparedRows = new Map<string, (given: Given) => Statement<ListedWebsite>>();
const preparedCounts = new Map<string, (given: Given) => Statement<{ total: number }>>();

/** The contract allows few values for what the text of a statement depends on, so there are few prepared statements. */
function textKey({ search, favorite, sort_by, sort, per_page }: ListQuery, offset: number): string {
  return `${Boolean(search)} ${favorite} ${sort_by} ${sort} ${per_page} ${offset > 0}`;
}

/** Selects the rows of a page. Both sort columns are unique per user, so the order is total and no row appears on two pages. */
export function selectRows(query: ListQuery, offset: number): Statement<ListedWebsite> {
  const key = textKey(query, offset);
  const prepared = preparedRows.get(key) ?? prepareRows(query, offset);
  preparedRows.set(key, prepared);
  return prepared({ search: searched(query), offset });
}

/** The limit is part of the text, so that the planner sees it. */
function prepareRows(query: ListQuery, offset: number) {
  const { sort_by, sort, per_page } = query;
  return prepare((given: Given) => {
    const rows = selectMatches(query, given)
      .select(columnsOf(WebsiteEntity, ['excludeParams', 'excludeIps']) as 'id'[])
      .select([unlessTooLong('exclude_params').as('excludeParams'), unlessTooLong('exclude_ips').as('excludeIps')])
      .orderBy(sort_by, sort)
      .limit(sql.lit(per_page))
      .$castTo<ListedWebsite>();
    return offset === 0 ? rows : rows.offset(given.offset);
  });
}

/** A page of 100 websites stays below 2 MiB. */
const maxListedBytes = 8192;

/** Quotes and line breaks take two bytes in JSON. The length is computed only for texts that can be too long. */
function unlessTooLong(column: 'exclude_params' | 'exclude_ips') {
  const text = sql.ref(column);
  return sql<string | null>`case when octet_length(${text}) <= ${sql.lit(maxListedBytes / 6)}
    or octet_length(to_json(${text})::text) <= ${sql.lit(maxListedBytes)} then ${text} end`;
}

export function countMatches(query: ListQuery): Statement<{ total: number }> {
  if (!query.search && query.favorite === undefined) return countAll({});
  const key = textKey(query, 0);
  const prepared = preparedCounts.get(key) ?? prepareCount(query);
  preparedCounts.set(key, prepared);
  return prepared({ search: searched(query), offset: 0 });
}

function prepareCount(query: ListQuery) {
  return prepare((given: Given) => selectMatches(query, given).select(sql<number>`count(*)::int`.as('total')));
}

/** Counts all websites of the caller by reading the number that the database maintains. */
export const countAll = prepare(() => sql<{ total: number }>`select website_count as total from users`);

function selectMatches({ search, favorite }: ListQuery, given: Given) {
  let matches = tables<typeof WebsiteEntity>().selectFrom('websites');
  // strpos is used, because the planner underestimates the matches of LIKE and chooses a slow plan, and ILIKE takes twice as long.
  if (search) matches = matches.where(sql<boolean>`(strpos(domain, ${given.search}) > 0 or strpos(domain_unicode, ${given.search}) > 0)`);
  // A literal condition lets the planner use the partial index of favorites. A parameter would not.
  if (favorite !== undefined) matches = matches.where(favorite ? sql<boolean>`favorite` : sql<boolean>`not favorite`);
  return matches;
}

/** Domains are stored in lower case. */
function searched({ search }: ListQuery): string {
  return search ? search.normalize('NFC').toLowerCase() : '';
}
