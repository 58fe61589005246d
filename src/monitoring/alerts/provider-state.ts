import { setImmediate as nextTurn } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { Channel } from '../channels/channel.ts';
import type { ProviderEntity } from '../providers/provider.entity.ts';
import { wakeDispatcher } from '../wake.ts';
import type { AlertEntity } from './alert.entity.ts';

/** After so many messages to people in so many seconds, those that follow are collected for some seconds, and become one message. */
const burst = { messages: 5, seconds: 30, collectSeconds: 5 };
/** A provider that fails is tried at least once a minute, because a new alert should not wait for the pauses of old ones. */
const maxPauseSeconds = 60;
/** After so many failures in a row it is the provider that fails, and not a message that the receiver does not like. */
const failuresOfProvider = 3;

const db = tables<typeof ProviderEntity | typeof AlertEntity>();
const now = sql<Date>`app_now()`;

const isInBurst = sql<boolean>`(burst_started_at > ${now} - ${sql.lit(burst.seconds)} * interval '1 second')`;
const messagesInBurst = sql<number>`(case when ${isInBurst} then burst_messages else 0 end + 1)`;

/** No attempt fails any more. */
const healthy = { last_delivery_error: null, failing_since: null, failed_attempts: sql.lit(0), failing_told_at: null };
/** A pause that has begun during the attempt goes on: the receiver has asked another process for it, or messages are collected. */
const laterOf = (time: RawBuilder<unknown>) => sql<Date | null>`greatest(next_message_at, ${time})`;
const ifInFuture = (time: RawBuilder<unknown>) => sql<Date | null>`case when ${time} > ${now} then ${time} end`;
const mustWait = sql<boolean>`(next_message_at > ${now} is true)`.as('mustWait');

const endOfBurst = sql`case when ${messagesInBurst} >= ${sql.lit(burst.messages)}
  then ${now} + ${sql.lit(burst.collectSeconds)} * interval '1 second' end`;

const recordForPeople = prepare(({ id }: { id: number }) =>
  db
    .updateTable('providers')
    .set({
      ...healthy,
      burst_started_at: sql`case when ${isInBurst} then burst_started_at else ${now} end`,
      burst_messages: messagesInBurst,
      next_message_at: ifInFuture(laterOf(endOfBurst)),
    })
    .where('id', '=', id)
    .returning(mustWait),
);

const recordForPrograms = prepare(({ id }: { id: number }) =>
  db
    .updateTable('providers')
    .set({ ...healthy, next_message_at: ifInFuture(sql.ref('next_message_at')) })
    .where('id', '=', id)
    .where(sql<boolean>`(last_delivery_error is not null or next_message_at is not null)`)
    .returning(mustWait),
);

/** Records that a provider has accepted a message. Returns whether it must wait before the next one. */
export function recordSuccess({ id, audience }: { id: number } & Pick<Channel, 'audience'>) {
  return audience === 'people' ? recordForPeople({ id }) : recordForPrograms({ id });
}

/** Records that a provider has accepted a test, which ends its pause. */
export const recordAcceptedTest = prepare(({ id }: { id: number }) =>
  db
    .updateTable('providers')
    .set({ ...healthy, next_message_at: null })
    .where('id', '=', id)
    .where(sql<boolean>`(last_delivery_error is not null or next_message_at is not null)`),
);

/** Lets what a provider gets in the next seconds become one message. */
export const collectMessages = prepare((given: { id: number; seconds: number }) =>
  db
    .updateTable('providers')
    .set({ next_message_at: laterOf(sql`${now} + ${given.seconds}::float8 * interval '1 second'`) })
    .where('id', '=', given.id),
);

/** Records that an attempt has failed. `pauseSeconds`: how long the provider gets no message. */
export const recordFailure = prepare((given: { id: number; reason: string; pauseSeconds: number }) =>
  db
    .updateTable('providers')
    .set({
      last_delivery_error: given.reason,
      failing_since: sql`coalesce(failing_since, ${now})`,
      failed_attempts: sql`failed_attempts + 1`,
      next_message_at: laterOf(sql`${now} + ${given.pauseSeconds}::float8 * interval '1 second'`),
    })
    .where('id', '=', given.id),
);

/** Records that a test has failed. It says nothing about the messages before. */
export const recordFailedTest = prepare((given: { id: number; reason: string }) =>
  db.updateTable('providers').set({ last_delivery_error: given.reason }).where('id', '=', given.id),
);

/** Selects until when a provider gets no message. */
export const selectPause = prepare(({ id }: { id: number }) =>
  db.selectFrom('providers').select('next_message_at as until').where('id', '=', id).where('next_message_at', '>', now),
);

/** Forgets the failures of a provider if its settings have changed. The last error stays until a message is accepted. */
export function forgetFailuresIf(changed: RawBuilder<boolean>) {
  const unlessChanged = (column: string) => sql<null>`case when not ${changed} then ${sql.ref(column)} end`;
  return {
    next_message_at: unlessChanged('next_message_at'),
    failing_since: unlessChanged('failing_since'),
    failing_told_at: unlessChanged('failing_told_at'),
    failed_attempts: sql<number>`case when ${changed} then 0 else failed_attempts end`,
  };
}

/** How long a provider gets no message after a failure: as long as it asked for, or longer with every failure in a row. */
export function pauseSeconds(failedAttempts: number, requestedSeconds = 0): number {
  return Math.max(requestedSeconds, Math.min(maxPauseSeconds, 2 ** Math.min(failedAttempts, 10)));
}

/** Whether the provider has failed, and not only a message. */
export function hasFailed({ failedAttempts }: { failedAttempts: number }): boolean {
  return failedAttempts >= failuresOfProvider;
}

/** The embedded database changes so many in about 10 ms, in which this process responds to nobody. */
const retriedAtOnce = 100;
const maxRetried = 5000;

const retrySome = prepare(({ userId, providerId }: { userId: number; providerId: number }) =>
  db
    .updateTable('alerts')
    .set({ next_attempt_at: now })
    .where('id', 'in', ({ selectFrom }) =>
      selectFrom('alerts as a')
        .select('a.id')
        .where('a.user_id', '=', userId)
        .where('a.provider_id', '=', providerId)
        .where('a.status', '=', sql.lit('queued'))
        .where('a.next_attempt_at', '>', now)
        .where('a.attempts', '>', sql.lit(0))
        .where('a.lease_token', 'is', null)
        .orderBy('a.next_attempt_at')
        .limit(sql.lit(retriedAtOnce)),
    )
    // Another process may have leased it meanwhile.
    .where('lease_token', 'is', null)
    .returning('id'),
);

/** Makes the alerts due that wait because their provider has failed. Those beyond 5,000 keep the times of their next attempts. */
export async function retryNow(query: Query, provider: { userId: number; providerId: number }): Promise<void> {
  for (let count = 0; count < maxRetried; count += retriedAtOnce) {
    const [retried] = await query(retrySome(provider), wakeDispatcher({}));
    if (retried.length < retriedAtOnce) return;
    await nextTurn();
  }
}
