import type { components, operations } from '../../../generated/types/monitoring.ts';
import { findById } from '../../db/find-by-id.ts';
import { selectFrom, selectPage } from '../../db/statement.ts';
import type { UserDatabase } from '../../db/user-database.ts';
import { InvalidRequest, NotFound, ProblemError, type ValidationError } from '../../errors.ts';
import type { Handlers } from '../../http/operations.ts';
import { pageMeta } from '../../http/paging.ts';
import { MonitorEntity } from '../monitors/monitor.entity.ts';
import { ProviderEntity } from '../providers/provider.entity.ts';
import { type Notification, NotificationEntity } from './notification.entity.ts';

type NotificationOperations = Pick<operations, 'listNotifications' | 'addNotification' | 'removeNotification'>;

export const notificationHandlers: Handlers<NotificationOperations, UserDatabase> = {
  async listNotifications({ path, query: { page, pageSize }, url }, { db }) {
    const [[monitor], notifications, counted] = await db.query(
      selectFrom(MonitorEntity, 'where id = $1', [path.id]),
      ...selectPage(NotificationEntity, {
        where: 'monitor_id = $1',
        values: [path.id],
        orderBy: 'created_at desc, provider_id desc',
        page,
        pageSize,
      }),
    );
    if (!monitor) throw new NotFound('Monitor', path.id);
    return { body: { data: notifications.map(notificationView), ...pageMeta(url, { page, pageSize, counted }) } };
  },

  async addNotification({ path, body }, { caller: { userId }, db }) {
    const pair = { userId, monitorId: path.id, providerId: body.provider_id };
    const { notification, isNew } = await db.transaction(async (em) => {
      await findById(em, MonitorEntity, path.id, { lock: true });
      await findById(em, ProviderEntity, body.provider_id, { lock: true });
      const found = await em.findOne(NotificationEntity, pair);
      const assigned = found ?? em.create(NotificationEntity, { ...pair, enabled: body.enabled });
      assigned.enabled = body.enabled;
      await em.flush();
      return { notification: assigned, isNew: !found };
    });
    return { body: { data: notificationView(notification) }, isNew };
  },

  async removeNotification({ path, query, body }, { db }) {
    const providerId = resolveProviderId(body?.provider_id, query.provider_id);
    await db.transaction(async (em) => {
      await findById(em, MonitorEntity, path.id);
      const removed = await em.nativeDelete(NotificationEntity, { monitorId: path.id, providerId });
      if (removed === 0) throw new ProblemError('not_found', `Provider ${providerId} is not assigned to monitor ${path.id}.`);
    });
    return { body: { monitor_id: path.id, provider_id: providerId, object: 'notification', deleted: true } };
  },
};

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
    created_at: notification.createdAt.toISOString(),
  };
}
