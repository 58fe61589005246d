import { type RawBuilder, sql } from 'kysely';
import type { operations } from '../../../generated/types/monitoring.ts';
import { preparePage } from '../../db/rows.ts';
import { columnsOf, tables } from '../../db/tables.ts';
import type { Input } from '../../http/operations.ts';
import type { StoredOptions } from '../checks/check.ts';
import { checks } from '../checks/registry.ts';
import { type Monitor, MonitorEntity } from './monitor.entity.ts';

type ListQuery = Input<operations['listMonitors']>['query'];
type Filter = Partial<Pick<ListQuery, 'status' | 'type' | 'tag' | 'website_id' | 'search'>>;

/** How each order sorts. Otherwise equal monitors are sorted newest first. */
const orders: Record<ListQuery['sort'], RawBuilder<unknown>[]> = {
  newest: [],
  name: [sql`searched_name collate "C"`],
  worst_first: [
    sql`case status when 'down' then 1 when 'pending' then 3 when 'up' then case when tls_expires_at <= tls_warned_expiry then 2 else 4 end else 5 end`,
  ],
};

const unlistedByType = Object.entries(checks).flatMap(([type, { options }]) =>
  options?.unlisted.length ? [[type, options.unlisted] as const] : [],
);
/** The options without those that lists leave out: a page of them could take several megabytes. */
const listedSettings = sql<StoredOptions>`case ${sql.join(
  unlistedByType.map(([type, names]) => sql`when type = ${sql.lit(type)} then settings - ${sql.lit(`{${names}}`)}::text[]`),
  sql` `,
)} else settings end`;

/** Selects monitors as lists show them. */
export function listedMonitors() {
  return tables<typeof MonitorEntity>()
    .selectFrom('monitors')
    .select(columnsOf(MonitorEntity, ['settings']) as 'id'[])
    .select(listedSettings.as('settings'))
    .$castTo<Monitor>();
}

const selectMonitors = {
  newest: prepareOrder('newest'),
  name: prepareOrder('name'),
  worst_first: prepareOrder('worst_first'),
};

function prepareOrder(sort: ListQuery['sort']) {
  return preparePage((given: Filter) => {
    const filtered = listedMonitors()
      .where(sql<boolean>`(${given.status}::text is null or status = ${given.status})`)
      .where(sql<boolean>`(${given.type}::text is null or type = ${given.type})`)
      .where(sql<boolean>`(${given.tag}::text is null or ${given.tag} = any (tags))`)
      .where(sql<boolean>`(${given.website_id}::bigint is null or website_id = ${given.website_id})`)
      .where(
        sql<boolean>`(${given.search}::text is null or position(lower(${given.search}) in searched_name) > 0
          or position(lower(${given.search}) in searched_url) > 0)`,
      );
    return orders[sort].reduce((rows, order) => rows.orderBy(order), filtered).orderBy('id', 'desc');
  });
}

/** Selects a page of the monitors that a query asks for, and the number of monitors on all pages. */
export function selectPage({ sort, ...query }: ListQuery) {
  return selectMonitors[sort](query);
}
