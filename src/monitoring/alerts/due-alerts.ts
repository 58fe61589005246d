import { type ExpressionBuilder, sql } from 'kysely';
import { prepare, type Query } from '../../db/statement.ts';
import { type Tables, tables } from '../../db/tables.ts';
import type { ProviderType } from '../channels/channel.ts';
import type { IncidentEntity } from '../incidents/incident.entity.ts';
import type { ProviderEntity } from '../providers/provider.entity.ts';
import { isSuspended } from '../suspended-users.ts';
import type { AlertEntity } from './alert.entity.ts';

/** The number of users that are visited at most to find providers. */
const maxVisited = 1000;

type AlertTables = Tables<typeof AlertEntity | typeof ProviderEntity>;

const db = tables<typeof AlertEntity | typeof ProviderEntity>();
const now = sql<Date>`app_now()`;
// A literal, because the partial indexes cannot be used for a parameter.
const queued = sql.lit<'queued'>('queued');

/**
 * Whether an alert before `a` about the same incident, or about the certificate of the same monitor, waits to be sent. If it was canceled
 * while a process had leased it, the process may still send it.
 */
const followsWaitingAlert = (subject: 'incident_id' | 'monitor_id') => sql<boolean>`(${sql.ref(`a.${subject}`)} is not null and exists (
  select from alerts as earlier where earlier.user_id = a.user_id and ${sql.ref(`earlier.${subject}`)} = ${sql.ref(`a.${subject}`)}
  and earlier.provider_id = a.provider_id and earlier.id < a.id and (earlier.status = 'queued'
  or earlier.status = 'suppressed' and earlier.lease_token is not null and earlier.next_attempt_at > ${now})))`;

/** Selects due alerts, the oldest first. */
export function selectDue(from: Pick<ExpressionBuilder<AlertTables, never>, 'selectFrom'>) {
  return from
    .selectFrom('alerts as a')
    .where('a.status', '=', queued)
    .where('a.next_attempt_at', '<=', now)
    .where(sql<boolean>`not (${followsWaitingAlert('incident_id')} or ${followsWaitingAlert('monitor_id')})`)
    .orderBy('a.next_attempt_at');
}

export interface WaitingProvider {
  userId: number;
  providerId: number;
  channel: ProviderType;
}

export interface WaitingProviders {
  /** Those whose alerts have waited longest come first. */
  providers: WaitingProvider[];
  /** Where the search continues next time. */
  continueAfter: number;
}

/** Each step of the recursion jumps to the next user in the index, past the other alerts of the user before. */
const selectWaitingProviders = prepare((given: { busyProviders: number[]; afterUserId: number }) => {
  const ofPending = db.selectFrom('alerts as a').select('a.user_id').where('a.status', '=', queued);
  const next = ofPending.orderBy('a.user_id').limit(sql.lit(1));
  return db
    .withRecursive('visited(user_id)', (recursive) =>
      recursive
        .selectFrom(next.where('a.user_id', '>', given.afterUserId).as('first'))
        .select(sql<number | null>`user_id`.as('user_id'))
        .unionAll(
          recursive
            .selectFrom('visited as v')
            .where('v.user_id', 'is not', null)
            .select(next.where('a.user_id', '>', sql.ref<number>('v.user_id')).as('user_id')),
        ),
    )
    .selectFrom((from) =>
      from
        .selectFrom('visited')
        .select(sql<number>`user_id`.as('user_id'))
        .where('user_id', 'is not', null)
        .limit(sql.lit(maxVisited))
        .as('v'),
    )
    .leftJoinLateral(
      (from) =>
        from
          .selectFrom('providers as p')
          .crossJoinLateral((due) =>
            selectDue(due)
              .select('a.next_attempt_at as at')
              .where('a.user_id', '=', sql.ref<number>('p.user_id'))
              .where('a.provider_id', '=', sql.ref<number>('p.id'))
              .limit(sql.lit(1))
              .as('due'),
          )
          .select(['p.id', 'p.provider_type', 'due.at'])
          .whereRef('p.user_id', '=', 'v.user_id')
          .where(sql<boolean>`not (p.id = any (${given.busyProviders}::bigint[]))`)
          .where(sql<boolean>`not ${isSuspended('v.user_id')}`)
          .where(sql<boolean>`(p.next_message_at is null or p.next_message_at <= ${now})`)
          .as('p'),
      (join) => join.onTrue(),
    )
    .select(['v.user_id as userId', 'p.id as providerId', 'p.provider_type as channel'])
    .orderBy('p.at');
});

/**
 * Finds providers with due alerts. It visits the users who have pending alerts one by one, starting after `afterUserId`, so that
 * thousands of alerts of one user do not hide those of the others.
 */
export async function findWaitingProviders(
  query: Query,
  request: { busyProviders: number[]; afterUserId: number },
): Promise<WaitingProviders> {
  const [rows] = await query(selectWaitingProviders(request));
  const visited = new Set(rows.map(({ userId }) => userId));
  return {
    providers: rows.flatMap(({ userId, providerId, channel }) =>
      providerId === null || channel === null ? [] : [{ userId, providerId, channel }],
    ),
    continueAfter: visited.size === maxVisited ? Math.max(...visited) : 0,
  };
}

/** Selects the time until the next attempt or reminder, or until a lease or the pause of a provider ends. What is due is not considered. */
export const selectNextAttempt = prepare(() => {
  const nextAttempt = db
    .selectFrom('alerts')
    .select(sql<Date | null>`min(next_attempt_at)`.as('at'))
    .where('status', '=', queued)
    .where('next_attempt_at', '>', now);
  const nextMessage = db.selectFrom('providers').select(sql<Date | null>`min(next_message_at)`.as('at')).where('next_message_at', '>', now);
  const nextReminder = tables<typeof IncidentEntity>()
    .selectFrom('incidents')
    .select(sql<Date | null>`min(remind_at)`.as('at'))
    .where('remind_at', '>', now)
    .where('resolved_at', 'is', null)
    .where('acknowledged_at', 'is', null);
  return db
    .selectFrom(nextAttempt.unionAll(nextMessage).unionAll(nextReminder).as('next'))
    .select(sql<number | null>`extract(epoch from min(next.at) - ${now})::float8`.as('seconds'));
});
