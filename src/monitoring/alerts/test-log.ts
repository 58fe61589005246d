import { sql } from 'kysely';
import { prepare, type Query } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { StoredEvent } from '../messages/event.ts';
import type { ProviderEntity } from '../providers/provider.entity.ts';
import type { AlertEntity } from './alert.entity.ts';
import { recordAcceptedTest, recordFailedTest, retryNow } from './provider-state.ts';

interface SentTest {
  userId: number;
  providerId: number;
  event: StoredEvent;
  /** What it has failed with. Null if it was accepted. */
  reason: string | null;
}

const insertTest = prepare((given: { providerId: number; event: string; reason: string | null }) => {
  const db = tables<typeof AlertEntity | typeof ProviderEntity>();
  return db
    .insertInto('alerts')
    .columns(['user_id', 'provider_id', 'kind', 'payload', 'status', 'attempts', 'last_error', 'done_at'])
    .expression(
      db
        .selectFrom('providers')
        .select(['user_id', 'id', sql.lit('test').as('kind'), sql<StoredEvent>`${given.event}::jsonb`.as('payload')])
        .select(sql<'sent' | 'failed'>`case when ${given.reason}::text is null then 'sent' else 'failed' end`.as('status'))
        .select([sql.lit(1).as('attempts'), sql<string | null>`${given.reason}::text`.as('last_error'), sql<Date>`app_now()`.as('done_at')])
        .where('id', '=', given.providerId)
        // It may be deleted at the same time.
        .forKeyShare(),
    );
});

/** Logs a test that was sent. If it was accepted, the alerts that wait because the provider has failed are due. */
export async function logTest(query: Query, { userId, providerId, event, reason }: SentTest): Promise<void> {
  const log = insertTest({ providerId, event: JSON.stringify(event), reason });
  await query(reason === null ? recordAcceptedTest({ id: providerId }) : recordFailedTest({ id: providerId, reason }), log);
  if (reason === null) await retryNow(query, { userId, providerId });
}
