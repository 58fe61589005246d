import { type RawBuilder, sql } from 'kysely';
import type { operations } from '../../../generated/types/monitoring.ts';
import { preparePage } from '../../db/rows.ts';
import { selectFrom } from '../../db/tables.ts';
import type { Input } from '../../http/operations.ts';
import { MonitorEntity } from './monitor.entity.ts';

type ListQuery = Input<operations['listMonitors']>['query'];
type Filter = Partial<Pick<ListQuery, 'status' | 'type' | 'tag' | 'website_id' | 'search'>>;

/** How each order sorts. Otherwise equal monitors are sorted newest first. */
const orders: Record<ListQuery['sort'], RawBuilder<unknown>[]> = {
  newest: [],
  name: [sql`lower(friendly_name) collate "C"`],
  worst_first: [
    sql`case status when 'down' then 1 when 'pending' then 3 when 'up' then case when tls_expires_at <= tls_warned_expiry then 2 else 4 end else 5 end`,
  ],
};

const selectMonitors = {
  newest: prepareOrder('newest'),
  name: prepareOrder('name'),
  worst_first: prepareOrder('worst_first'),
};

function prepareOrder(sort: ListQuery['sort']) {
  return preparePage((given: Filter) => {
    const filtered = selectFrom(MonitorEntity)
      .where(sql<boolean>`(${given.status}::text is null or status = ${given.status})`)
      .where(sql<boolean>`(${given.type}::text is null or type = ${given.type})`)
      .where(sql<boolean>`(${given.tag}::text is null or ${given.tag} = any (tags))`)
      .where(sql<boolean>`(${given.website_id}::bigint is null or website_id = ${given.website_id})`)
      .where(
        sql<boolean>`(${given.search}::text is null or position(lower(${given.search}) in lower(friendly_name)) > 0
          or position(lower(${given.search}) in lower(url)) > 0)`,
      );
    return orders[sort].reduce((rows, order) => rows.orderBy(order), filtered).orderBy('id', 'desc');
  });
}

/** Selects a page of the monitors that a query asks for, and the number of monitors on all pages. */
export function selectPage({ sort, ...query }: ListQuery) {
  return selectMonitors[sort](query);
}
