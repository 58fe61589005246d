import { sql } from 'kysely';
import type { components, operations } from '../../../generated/types/monitoring.ts';
import { hasCode, preparePage, prepareRead, prepareSelect } from '../../db/rows.ts';
import { prepare } from '../../db/statement.ts';
import { insertInto, selectFrom, tables } from '../../db/tables.ts';
import type { UserDatabase } from '../../db/user-database.ts';
import { InvalidRequest, NotFound, ProblemError, type ValidationError } from '../../errors.ts';
import type { Handlers } from '../../http/operations.ts';
import { pageMeta } from '../../http/paging.ts';
import { cancelUnassigned } from '../alerts/cancel-alerts.ts';
import { planReminders } from '../alerts/reminders.ts';
import { MonitorEntity } from '../monitors/monitor.entity.ts';
import { ProviderEntity } from '../providers/provider.entity.ts';
import { wakeDispatcher } from '../wake.ts';
import { type Notification, NotificationEntity } from './notification.entity.ts';

type NotificationOperations = Pick<operations, 'listNotifications' | 'addNotification' | 'removeNotification'>;

const selectMonitor = prepareSelect(MonitorEntity);
const readMonitor = prepareRead(MonitorEntity);
const readProvider = prepareRead(ProviderEntity);
const selectNotifications = preparePage((given: { monitorId: number }) =>
  selectFrom(NotificationEntity).where('monitor_id', '=', given.monitorId).orderBy('created_at', 'desc').orderBy('provider_id', 'desc'),
);
/** Inserts or updates. xmax is 0 in a row that was inserted. */
const assign = prepare((given: Omit<Notification, 'createdAt'>) =>
  insertInto(NotificationEntity)
    .values({
      user_id: given.userId,
      monitor_id: given.monitorId,
      provider_id: given.providerId,
      enabled: given.enabled,
      delay_seconds: given.delaySeconds,
      remind_every_seconds: given.remindEverySeconds,
    })
    .onConflict((conflict) =>
      conflict.columns(['user_id', 'monitor_id', 'provider_id']).doUpdateSet((row) => ({
        enabled: row.ref('excluded.enabled'),
        delay_seconds: row.ref('excluded.delay_seconds'),
        remind_every_seconds: row.ref('excluded.remind_every_seconds'),
      })),
    )
    .returning(sql<boolean>`xmax = 0`.as('isNew')),
);
const unassign = prepare((given: { monitorId: number; providerId: number }) =>
  tables<typeof NotificationEntity>()
    .deleteFrom('notifications')
    .where('monitor_id', '=', given.monitorId)
    .where('provider_id', '=', given.providerId)
    .returning('provider_id'),
);

export const notificationHandlers: Handlers<NotificationOperations, UserDatabase> = {
  async listNotifications({ path, query: { page, pageSize }, url }, { db }) {
    const [[monitor], notifications, counted] = await db.query(
      selectMonitor(path),
      ...selectNotifications({ monitorId: path.id, page, pageSize }),
    );
    if (!monitor) throw new NotFound('Monitor', path.id);
    return { body: { data: notifications.map(notificationView), ...pageMeta(url, { page, pageSize, counted }) } };
  },

  async addNotification({ path, body }, { caller: { userId }, db }) {
    const { provider_id: providerId, enabled, delay_seconds: delaySeconds, remind_every_seconds: remindEverySeconds } = body;
    const assignment = { userId, monitorId: path.id, providerId, enabled, delaySeconds, remindEverySeconds };
    // An incident may be open.
    const planned = remindEverySeconds === null ? [] : [planReminders({ monitorIds: [path.id] }), wakeDispatcher({})];
    const canceled = enabled ? [] : [cancelUnassigned({ monitorIds: [path.id], providerId })];
    await readMonitor(db, path.id);
    await readProvider(db, providerId);
    const [[assigned]] = await db.query(assign(assignment), ...planned, ...canceled).catch((error: unknown) => {
      if (!hasCode(error, foreignKeyViolation)) throw error;
      // One of them was deleted in the meantime. The message of the error names the constraint.
      throw String(error).includes('monitor_id_fkey') ? new NotFound('Monitor', path.id) : new NotFound('Provider', providerId);
    });
    const { isNew, ...notification } = assigned as Notification & { isNew: boolean };
    return { body: { data: notificationView(notification) }, isNew };
  },

  async removeNotification({ path, query, body }, { db }) {
    const providerId = resolveProviderId(body?.provider_id, query.provider_id);
    const [[monitor], [removed]] = await db.query(selectMonitor(path), unassign({ monitorId: path.id, providerId }));
    if (!monitor) throw new NotFound('Monitor', path.id);
    if (!removed) throw new ProblemError('not_found', `Provider ${providerId} is not assigned to monitor ${path.id}.`);
    await db.query(cancelUnassigned({ monitorIds: [path.id], providerId }));
    return { body: { monitor_id: path.id, provider_id: providerId, object: 'notification', deleted: true } };
  },
};

const foreignKeyViolation = '23503';

/** The query is accepted as well as the body, because some proxies drop the body of a DELETE. */
function resolveProviderId(inBody: number | undefined, inQuery: number | undefined): number {
  const providerId = inBody ?? inQuery;
  if (providerId === undefined) throw new InvalidRequest([missingProvider]);
  if (inQuery !== undefined && inQuery !== providerId) throw new InvalidRequest([differentProvider]);
  return providerId;
}

const missingProvider: ValidationError = {
  in: 'body',
  pointer: '/provider_id',
  code: 'required',
  message: 'is required, in the body or in the query',
};
const differentProvider: ValidationError = {
  in: 'query',
  name: 'provider_id',
  code: 'contradiction',
  message: 'must equal provider_id in the body',
};

function notificationView(notification: Notification): components['schemas']['Notification'] {
  return {
    monitor_id: notification.monitorId,
    provider_id: notification.providerId,
    enabled: notification.enabled,
    delay_seconds: notification.delaySeconds,
    remind_every_seconds: notification.remindEverySeconds ?? null,
    created_at: notification.createdAt.toISOString(),
  };
}
