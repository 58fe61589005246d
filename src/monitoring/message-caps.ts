import type { SqlEntityManager } from '@mikro-orm/sql';
import { lockQuota } from '../limits/quota.ts';
import type { ProviderType } from './providers/provider.entity.ts';

const messagesPerProviderPerHour = 100;

interface CountedMessage {
  userId: number;
  providerId: number;
  channel: ProviderType;
  smsPerUserPerDay: number;
  /** The message is sent, and counted, even if a cap is reached. */
  isExempt?: boolean;
}

export interface ReachedCap {
  /** The cap, such as "50 SMS per day". */
  cap: string;
  /** Until the period ends. */
  secondsLeft: number;
}

/**
 * Counts a message before it is sent, in the current transaction. Returns the cap if it is reached: then the message is not
 * counted and must not be sent. The counts are in the database, so they hold for all processes and after a restart. Periods are
 * days and hours in UTC.
 */
export async function countMessage(em: SqlEntityManager, message: CountedMessage): Promise<ReachedCap | undefined> {
  const { userId, isExempt = false } = message;
  const caps = capsOf(message);
  await lockQuota(em, userId, 'messages');
  const counts = await em.execute<{ counter: string; messages: number; secondsLeft: number }[]>(
    `select c.counter, coalesce(m.messages, 0) as messages,
            ceil(extract(epoch from date_trunc(c.period, now(), 'UTC') + ('1 ' || c.period)::interval - now()))::int as "secondsLeft"
       from json_to_recordset(?::json) as c (counter text, period text)
       left join message_counts m on m.user_id = ? and m.counter = c.counter and m.period_start = date_trunc(c.period, now(), 'UTC')`,
    [JSON.stringify(caps), userId],
  );
  for (const { counter, cap, limit } of caps) {
    const count = counts.find((row) => row.counter === counter);
    if (count && count.messages >= limit && !isExempt) return { cap, secondsLeft: Math.max(1, count.secondsLeft) };
  }
  await em.execute(
    `insert into message_counts as m (user_id, counter, period_start, messages)
     select ?, c.counter, date_trunc(c.period, now(), 'UTC'), 1 from json_to_recordset(?::json) as c (counter text, period text)
     on conflict (user_id, counter, period_start) do update set messages = m.messages + 1`,
    [userId, JSON.stringify(caps)],
    'run',
  );
  return undefined;
}

function capsOf({ providerId, channel, smsPerUserPerDay }: CountedMessage) {
  const perProvider = {
    counter: `provider ${providerId}`,
    period: 'hour',
    limit: messagesPerProviderPerHour,
    cap: `${messagesPerProviderPerHour} messages per hour for this provider`,
  };
  const sms = { counter: 'sms', period: 'day', limit: smsPerUserPerDay, cap: `${smsPerUserPerDay} SMS per day` };
  return channel === 'sms' ? [sms, perProvider] : [perProvider];
}
