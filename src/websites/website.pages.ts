import { raw } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';
import type { operations } from '../../generated/types/websites.ts';
import type { Input } from '../http/operations.ts';
import { type Website, WebsiteEntity } from './website.entity.ts';

type Query = Input<operations['listWebsites']>['query'];

/** One page of the caller's websites, and how many there are on all pages. */
export async function findPage(em: SqlEntityManager, query: Query): Promise<{ websites: Website[]; total: number }> {
  const total = await countMatches(em, query);
  const before = (query.page - 1) * query.per_page;
  const rows = Math.min(query.per_page, total - before);
  if (rows <= 0) return { websites: [], total };
  const after = total - before - rows;
  // From the end that is nearer, so that the last page is as quick as the first.
  if (before <= after) return { websites: await rowQuery(em, query).limit(rows).offset(before).getResultList(), total };
  const backwards = await rowQuery(em, { ...query, sort: query.sort === 'asc' ? 'desc' : 'asc' })
    .limit(rows)
    .offset(after)
    .getResultList();
  return { websites: backwards.toReversed(), total };
}

/** The rows in their order. No two rows of a user are equal in either, so that none moves between pages. */
export function rowQuery(em: SqlEntityManager, query: Query) {
  return em
    .createQueryBuilder(WebsiteEntity)
    .where(matches(query))
    .orderBy({ [query.sort_by]: query.sort });
}

export async function countMatches(em: SqlEntityManager, query: Query): Promise<number> {
  return query.search || query.favorite !== undefined ? em.count(WebsiteEntity, matches(query)) : countAll(em);
}

/** All websites of the caller, without counting them: the database keeps the number. */
export async function countAll(em: SqlEntityManager): Promise<number> {
  const [own] = await em.execute<{ website_count: number }[]>('select website_count from users');
  return own?.website_count ?? 0;
}

function matches({ search, favorite }: Query) {
  return {
    // Domains are stored in lower case. Not LIKE, of which the planner expects few rows and then sorts many, nor ILIKE,
    // which takes twice as long. The whole condition is one fragment: only then is the text sent as a parameter.
    ...(search && { [raw('strpos(domain, ?) > 0', [search.toLowerCase()])]: [] }),
    ...(favorite !== undefined && { favorite }),
  };
}
