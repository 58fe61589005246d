// Messages to users about the delivery of their alerts.
import { sql } from 'kysely';
import { jsonRows } from '../../db/json-rows.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { EventType, StoredEvent } from '../messages/event.ts';
import type { Provider, ProviderEntity } from '../providers/provider.entity.ts';
import { isSuspended } from '../suspended-users.ts';
import type { AlertEntity } from './alert.entity.ts';
import { markAsTold, type ReachedLimit } from './message-limits.ts';

/** How many other providers are told that one fails: those with the newest messages. */
const maxTold = 5;
const hourMs = 60 * 60 * 1000;
/** How many failing providers are looked at in one transaction. */
const maxFailing = 20;

interface Notice {
  userId: number;
  providerId: number;
  event: StoredEvent;
}

const db = tables<typeof AlertEntity | typeof ProviderEntity>();
const now = sql<Date>`app_now()`;

const insertNotices = prepare((given: { notices: string }) =>
  db
    .insertInto('alerts')
    .columns(['user_id', 'provider_id', 'kind', 'payload'])
    .expression(
      db
        .selectFrom(jsonRows(given.notices, 'n', { userId: 'bigint', providerId: 'bigint', event: 'jsonb' }))
        // A provider can be deleted meanwhile.
        .innerJoin('providers as p', (join) => join.onRef('p.user_id', '=', 'n.userId').onRef('p.id', '=', 'n.providerId'))
        .select(['p.user_id', 'p.id', sql<EventType>`n.event ->> 'type'`.as('kind'), sql<StoredEvent>`n.event`.as('payload')])
        .forKeyShare('p'),
    ),
);

/** Queues messages to providers. */
async function queueNotices(query: Query, notices: Notice[]): Promise<void> {
  if (notices.length > 0) await query(insertNotices({ notices: JSON.stringify(notices) }));
}

/** Another process may look for them at the same time. */
const claimFailing = prepare(() =>
  db
    .updateTable('providers as p')
    .set({ failing_told_at: now })
    .where('p.id', 'in', ({ selectFrom }) =>
      selectFrom('providers as f')
        .select('f.id')
        .where('f.failing_since', '<=', sql<Date>`${now} - interval '1 hour'`)
        .where('f.failing_told_at', 'is', null)
        .where(sql<boolean>`not ${isSuspended('f.user_id')}`)
        .orderBy('f.failing_since')
        .limit(sql.lit(maxFailing))
        .forUpdate()
        .skipLocked(),
    )
    .returning([
      'p.id',
      'p.user_id as userId',
      'p.provider_type as type',
      'p.name',
      'p.failing_since as since',
      'p.last_delivery_error as error',
    ])
    .returning(now.as('now')),
);

/** The providers of these users that work, those with the newest messages first. */
const selectWorking = prepare(({ userIds }: { userIds: number[] }) =>
  db
    .selectFrom('providers as p')
    .select(['p.id', 'p.user_id as userId'])
    .where('p.user_id', '=', sql<number>`any (${userIds}::bigint[])`)
    .where('p.failing_since', 'is', null)
    .where('p.recipient_unconfirmed', '=', false)
    .orderBy(sql`(select max(a.id) from alerts as a where a.user_id = p.user_id and a.provider_id = p.id) desc nulls last, p.id`),
);

export interface FailingProvider {
  id: number;
  userId: number;
  /** How many other providers tell the user. */
  told: number;
}

/** Tells users of providers that have been failing for an hour, by their other providers. Each time once. */
export async function queueFailingNotices(query: Query): Promise<FailingProvider[]> {
  const [failing] = await query(claimFailing({}));
  if (failing.length === 0) return [];
  const [working] = await query(selectWorking({ userIds: [...new Set(failing.map(({ userId }) => userId))] }));
  const byUser = Map.groupBy(working, ({ userId }) => userId);
  const recipients = failing.map((provider) => ({ provider, others: byUser.get(provider.userId)?.slice(0, maxTold) ?? [] }));
  const notices = recipients.flatMap(({ provider, others }) => {
    const event: StoredEvent = {
      type: 'provider.failing',
      timestamp: provider.now.toISOString(),
      data: {
        provider_id: provider.id,
        provider_type: provider.type,
        provider_name: provider.name ?? null,
        failing_since: (provider.since ?? provider.now).toISOString(),
        last_delivery_error: provider.error ?? null,
      },
    };
    return others.map(({ id }): Notice => ({ userId: provider.userId, providerId: id, event }));
  });
  await queueNotices(query, notices);
  return recipients.map(({ provider: { id, userId }, others }) => ({ id, userId, told: others.length }));
}

/** Tells a user by the provider itself, once in the period of the limit, that alerts are not sent any more for some time. Returns whether it does. */
export async function queueSuppressedNotice(
  query: Query,
  { id: providerId, userId, providerType }: Pick<Provider, 'id' | 'userId' | 'providerType'>,
  reached: ReachedLimit,
  time: Date,
): Promise<boolean> {
  if (!(await markAsTold(query, userId, reached))) return false;
  const { limit, secondsLeft } = reached;
  // Periods end with an hour. The seconds are rounded up.
  const until = new Date(Math.floor((time.getTime() + secondsLeft * 1000) / hourMs) * hourMs).toISOString();
  const event: StoredEvent = {
    type: 'alerts.suppressed',
    timestamp: time.toISOString(),
    data: { provider_id: providerId, provider_type: providerType, limit, until },
  };
  await queueNotices(query, [{ userId, providerId, event }]);
  return true;
}

/** Whether messages about an event are sent even if a limit is reached, because they have limits of their own. */
export function isLimitedOtherwise(type: EventType): boolean {
  return type === 'alerts.suppressed' || type === 'recipient.confirmation';
}
