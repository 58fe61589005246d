import { sql } from 'kysely';
import { jsonRows } from '../../db/json-rows.ts';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { Channel } from '../channels/channel.ts';
import type { MessageCountEntity } from './message-count.entity.ts';

/** How many messages a provider gets, by who reads them. */
const perProviderPerHour = { people: 100, programs: 2000 };

/** Begins the reason why an alert is suppressed. */
export const limitReason = 'the limit of';

interface CountedMessage {
  userId: number;
  providerId: number;
  channel: Pick<Channel, 'name' | 'audience' | 'perUserPerDay'>;
  /** The message is sent, and counted, even if a limit is reached. People get at most as many of these again, and one. */
  isExempt?: boolean;
}

export interface ReachedLimit {
  /** Such as "50 SMS per day". */
  limit: string;
  /** Until the period ends. */
  secondsLeft: number;
  counter: string;
  period: 'hour' | 'day';
}

interface Counter extends Omit<ReachedLimit, 'secondsLeft'> {
  maximum: number;
}

const db = tables<typeof MessageCountEntity>();
/** Periods are hours and days in UTC. */
const periodStart = sql<Date>`date_trunc(c.period, app_now(), 'UTC')`;
const counters = (json: string) => jsonRows(json, 'c', { counter: 'text', period: 'text' });

/** Messages of one user are counted one after the other, so that two of them cannot both be the last one that is allowed. */
const lockUser = prepare(
  ({ userId }: { userId: number }) => sql`select pg_advisory_xact_lock(hashtextextended('messages of ' || ${userId}::bigint, 0))`,
);

const readCounts = prepare((given: { userId: number; counters: string }) =>
  db
    .selectFrom(counters(given.counters))
    .leftJoin('message_counts as m', (join) =>
      join.on('m.user_id', '=', given.userId).onRef('m.counter', '=', 'c.counter').on('m.period_start', '=', periodStart),
    )
    .select([
      'c.counter',
      sql<number>`coalesce(m.messages, 0)`.as('messages'),
      sql<number>`ceil(extract(epoch from ${periodStart} + ('1 ' || c.period)::interval - app_now()))::int`.as('secondsLeft'),
    ]),
);

const increaseCounts = prepare((given: { userId: number; counters: string }) =>
  db
    .insertInto('message_counts')
    .columns(['user_id', 'counter', 'period_start', 'messages'])
    .expression(
      db
        .selectFrom(counters(given.counters))
        .select([
          sql<number>`${given.userId}::bigint`.as('user_id'),
          'c.counter',
          periodStart.as('period_start'),
          sql.lit(1).as('messages'),
        ]),
    )
    .onConflict((conflict) =>
      conflict.columns(['user_id', 'counter', 'period_start']).doUpdateSet({ messages: sql<number>`message_counts.messages + 1` }),
    ),
);

/** Inserts a row once per period. */
const insertTold = prepare((given: { userId: number; counter: string; period: string }) =>
  db
    .insertInto('message_counts')
    .values({
      user_id: given.userId,
      counter: given.counter,
      period_start: sql<Date>`date_trunc(${given.period}::text, app_now(), 'UTC')`,
      messages: 1,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('messages'),
);

/**
 * Counts a message before it is sent, in the current transaction. Returns the limit if one is reached: then the message is not
 * counted and must not be sent. The counts are in the database, so they hold for all processes and after a restart.
 */
export async function countMessage(query: Query, message: CountedMessage): Promise<ReachedLimit | undefined> {
  const { userId, isExempt = false } = message;
  const limits = limitsOf(message);
  const given = { userId, counters: JSON.stringify(limits) };
  const [, counts] = await query(lockUser({ userId }), readCounts(given));
  for (const { counter, period, limit, maximum } of limits) {
    const count = counts.find((row) => row.counter === counter);
    if (!count || count.messages < (isExempt ? beyond(maximum, message.channel) : maximum)) continue;
    return { limit, secondsLeft: Math.max(1, count.secondsLeft), counter, period };
  }
  await query(increaseCounts(given));
  return undefined;
}

/** Marks a limit as one that the user was told of. Returns whether they were not told in this period before. */
export async function markAsTold(query: Query, userId: number, { counter, period }: ReachedLimit): Promise<boolean> {
  const [told] = await query(insertTold({ userId, counter: `told ${counter}`, period }));
  return told.length > 0;
}

/**
 * People get the ends of what was sent, and one message that the limit is reached. A program gets one message for each alert, so the
 * limit of those that are ended limits the ends as well. A group counts once.
 */
function beyond(maximum: number, { audience }: Pick<Channel, 'audience'>): number {
  return audience === 'people' ? 2 * maximum + 1 : Number.POSITIVE_INFINITY;
}

function limitsOf({ providerId, channel: { name, audience, perUserPerDay } }: CountedMessage): Counter[] {
  const maximum = perProviderPerHour[audience];
  const perProvider: Counter = {
    counter: `provider ${providerId}`,
    period: 'hour',
    maximum,
    limit: `${maximum.toLocaleString('en-US')} messages per hour for this provider`,
  };
  if (perUserPerDay === undefined) return [perProvider];
  return [{ counter: name.toLowerCase(), period: 'day', maximum: perUserPerDay, limit: `${perUserPerDay} ${name} per day` }, perProvider];
}
