import type { operations } from '../../generated/types/websites.ts';
import { type Ask, selectFrom, sql } from '../db/statement.ts';
import type { Input } from '../http/operations.ts';
import { type Website, WebsiteEntity } from './website.entity.ts';

type Query = Input<operations['listWebsites']>['query'];

/** Most look at the beginning of a list; there, counting and reading need no second round trip. */
const nearRows = 1000;

/** One page of the caller's websites, and how many there are on all pages. */
export async function findPage(ask: Ask, query: Query): Promise<{ websites: Website[]; total: number }> {
  const before = (query.page - 1) * query.per_page;
  if (before < nearRows) {
    const [websites, [counted]] = await ask(selectRows(query, before), countMatches(query));
    return { websites, total: counted?.total ?? 0 };
  }
  const [[counted]] = await ask(countMatches(query));
  const total = counted?.total ?? 0;
  const rows = Math.min(query.per_page, total - before);
  if (rows <= 0) return { websites: [], total };
  const after = total - before - rows;
  // From the end that is nearer, so that the last page is as quick as the first.
  if (before <= after) {
    const [websites] = await ask(selectRows(query, before));
    return { websites, total };
  }
  const [backwards] = await ask(selectRows({ ...query, sort: query.sort === 'asc' ? 'desc' : 'asc' }, after));
  return { websites: backwards.slice(0, rows).toReversed(), total };
}

/**
 * The rows in their order. No two rows of a user are equal in either, so that none moves between pages. The number of rows
 * stands in the text, where the planner sees it; the contract allows four of them.
 */
export function selectRows(query: Query, offset: number) {
  const { condition, values } = matches(query);
  const rest = `where ${condition} order by ${query.sort_by} ${query.sort} limit ${query.per_page}`;
  return offset === 0
    ? selectFrom(WebsiteEntity, rest, values)
    : selectFrom(WebsiteEntity, `${rest} offset $${values.length + 1}`, [...values, offset]);
}

export function countMatches(query: Query) {
  if (!query.search && query.favorite === undefined) return countAll;
  const { condition, values } = matches(query);
  return sql<{ total: number }>(`select count(*)::int as total from websites where ${condition}`, values);
}

/** All websites of the caller, without counting them: the database keeps the number. */
export const countAll = sql<{ total: number }>('select website_count as total from users');

function matches({ search, favorite }: Query): { condition: string; values: unknown[] } {
  const conditions: string[] = [];
  const values: unknown[] = [];
  if (search) {
    values.push(search.toLowerCase());
    // Domains are stored in lower case. Not LIKE, of which the planner expects few rows and then sorts many, nor ILIKE,
    // which takes twice as long.
    conditions.push(`strpos(domain, $${values.length}) > 0`);
  }
  // Not as a value: only then can the planner use the index of favorites.
  if (favorite !== undefined) conditions.push(favorite ? 'favorite' : 'not favorite');
  return { condition: conditions.join(' and ') || 'true', values };
}
