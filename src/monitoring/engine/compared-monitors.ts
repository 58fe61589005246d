import { sql } from 'kysely';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { MonitorType } from '../checks/check.ts';
import type { MonitorEntity } from '../monitors/monitor.entity.ts';
import type { Claim } from './claim.ts';

/** A monitor that was up when it was last checked. */
export interface ComparedMonitor {
  url: string;
  type: MonitorType;
  host: string;
}

const db = tables<typeof MonitorEntity>();
const scheduled = db
  .selectFrom('monitors as m')
  .select(['m.user_id', sql<string>`m.url`.as('url'), 'm.type', 'm.target_host as host', 'm.status'])
  .where('m.next_check_at', 'is not', null)
  .where('m.grace_seconds', 'is', null) // Passive monitors ask nobody.
  .orderBy('m.next_check_at');

/** One monitor of each host, because most monitors may belong to one. */
const selectHosts = ({ userId, host }: { userId: number; host: string }) =>
  db
    .selectFrom(
      db
        .selectFrom(scheduled.where('m.user_id', '=', userId).limit(sql.lit(1000)).as('own'))
        .selectAll()
        .unionAll(db.selectFrom(scheduled.limit(sql.lit(2000)).as('soon')).selectAll())
        .as('c'),
    )
    .distinctOn('c.host')
    .select(['c.user_id', 'c.url', 'c.type', 'c.host'])
    .where('c.status', '=', sql.lit('up'))
    .where('c.host', '<>', host)
    .orderBy('c.host');

/** Each user has its turn, so that the monitors of one user do not decide for all others. */
const turn = sql<number>`row_number() over (partition by c.user_id order by random())`;

const selectUp = prepare((given: { userId: number; host: string }) =>
  db.selectFrom(selectHosts(given).as('c')).select(['c.url', 'c.type', 'c.host']).orderBy(turn).orderBy(sql`random()`).limit(sql.lit(8)),
);

/** Finds monitors of other hosts that are up, to learn whether anything replies while the check of `claim` gets no reply. */
export async function findComparedMonitors(query: Query, { userId, host }: Pick<Claim, 'userId' | 'host'>): Promise<ComparedMonitor[]> {
  const [monitors] = await query(selectUp({ userId, host }));
  return monitors;
}
