import { sql } from 'kysely';
import type { operations } from '../../../generated/types/monitoring.ts';
import { preparePage, prepareSelect } from '../../db/rows.ts';
import { prepare } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { UserDatabase } from '../../db/user-database.ts';
import { NotFound } from '../../errors.ts';
import type { Handlers } from '../../http/operations.ts';
import { pageMeta } from '../../http/paging.ts';
import { ProviderEntity } from '../providers/provider.entity.ts';
import { wakeDispatcher } from '../wake.ts';
import type { Alert, AlertEntity } from './alert.entity.ts';
import { deliveryView, type LoggedAlert } from './delivery.view.ts';

type Status = Alert['status'];

const db = tables<typeof AlertEntity>();
const now = sql<Date>`app_now()`;
/** A process has the alert. It may be sent at any moment. */
const isBeingSent = sql<boolean>`(status in ('queued', 'suppressed') and lease_token is not null and next_attempt_at > ${now})`;

const selectLogged = () =>
  db
    .selectFrom('alerts')
    .select(['id', 'kind', 'status', 'attempts', 'incident_id as incidentId', 'last_error as lastError', 'done_at as doneAt'])
    .select(['next_attempt_at as nextAttemptAt', 'created_at as createdAt', isBeingSent.as('isBeingSent')])
    .select(sql<number | null>`(payload #>> '{data,monitor,id}')::bigint`.as('monitorId'))
    .$castTo<LoggedAlert>();

const selectProvider = prepareSelect(ProviderEntity);
const selectDeliveries = preparePage((given: { providerId: number; status: Status | undefined }) =>
  selectLogged()
    .where('provider_id', '=', given.providerId)
    .where(sql<boolean>`(${given.status}::text is null or status = ${given.status})`)
    .orderBy('id', 'desc'),
);
const selectDelivery = prepare(({ id }: { id: number }) => selectLogged().where('id', '=', id));
const queueAgain = prepare(({ id }: { id: number }) =>
  db
    .updateTable('alerts')
    // One that still waits is only sent earlier.
    .set({ queued_at: sql`case when status = 'queued' then least(queued_at, ${now}) else ${now} end` })
    .set({ repeated_at: sql`case when status = 'queued' then repeated_at else ${now} end` })
    .set({ first_sent_at: sql`case when status = 'sent' then coalesce(first_sent_at, done_at) else first_sent_at end` })
    .set({ status: sql.lit('queued'), next_attempt_at: now, attempts: sql.lit(0) })
    .set({ counted_at: sql`case when status = 'queued' then counted_at end` })
    .set({ lease_token: null, done_at: null, last_error: null })
    .where('id', '=', id)
    // A link has limits of its own.
    .where('kind', '<>', sql.lit('recipient.confirmation'))
    .where(({ not }) => not(isBeingSent)),
);

export const deliveryHandlers: Handlers<Pick<operations, 'listDeliveries' | 'redeliver'>, UserDatabase> = {
  async listDeliveries({ path, query: { page, pageSize, status }, url }, { db }) {
    const [[provider], deliveries, counted] = await db.query(
      selectProvider(path),
      ...selectDeliveries({ providerId: path.id, status, page, pageSize }),
    );
    if (!provider) throw new NotFound('Provider', path.id);
    return { body: { data: deliveries.map(deliveryView), ...pageMeta(url, { page, pageSize, counted }) } };
  },

  async redeliver({ path }, { db }) {
    const [, [delivery]] = await db.query(queueAgain(path), selectDelivery(path), wakeDispatcher({}));
    if (!delivery) throw new NotFound('Delivery', path.id);
    return { body: { data: deliveryView(delivery) } };
  },
};
