import type { components, operations } from '../../../generated/types/monitoring.ts';
import { findOwn } from '../../db/find-own.ts';
import { selectFrom, selectPage } from '../../db/statement.ts';
import { type Fault, Invalid, NotFound } from '../../errors.ts';
import type { Handlers } from '../../http/operations.ts';
import { pageOf } from '../../paging.ts';
import { MonitorEntity } from '../monitors/monitor.entity.ts';
import { ProviderEntity } from '../providers/provider.entity.ts';
import { type Notification, NotificationEntity } from './notification.entity.ts';

type NotificationOperations = Pick<operations, 'listNotifications' | 'addNotification' | 'removeNotification'>;

export const notificationHandlers: Handlers<NotificationOperations> = {
  async listNotifications({ path, query: { page, pageSize }, url }, { ask }) {
    const [[monitor], notifications, counted] = await ask(
      selectFrom(MonitorEntity, 'where id = $1', [path.id]),
      ...selectPage(NotificationEntity, {
        where: 'monitor_id = $1',
        values: [path.id],
        orderBy: 'created_at desc, provider_id desc',
        page,
        pageSize,
      }),
    );
    if (!monitor) throw new NotFound();
    return { body: { data: notifications.map(notificationView), ...pageOf(url, { page, pageSize, counted }) } };
  },

  async addNotification({ path, body }, { caller: { userId }, asUser }) {
    const pair = { userId, monitorId: path.id, providerId: body.provider_id };
    const { notification, created } = await asUser(async (em) => {
      await findOwn(em, MonitorEntity, path.id, { lock: true });
      await findOwn(em, ProviderEntity, body.provider_id, { lock: true });
      const found = await em.findOne(NotificationEntity, pair);
      const assigned = found ?? em.create(NotificationEntity, { ...pair, enabled: body.enabled });
      assigned.enabled = body.enabled;
      await em.flush();
      return { notification: assigned, created: !found };
    });
    return { body: { data: notificationView(notification) }, created };
  },

  async removeNotification({ path, query, body }, { asUser }) {
    const providerId = namedProvider(body?.provider_id, query.provider_id);
    await asUser(async (em) => {
      await findOwn(em, MonitorEntity, path.id);
      const removed = await em.nativeDelete(NotificationEntity, { monitorId: path.id, providerId });
      if (removed === 0) throw new NotFound();
    });
    return { body: { monitor_id: path.id, provider_id: providerId, object: 'notification', deleted: true } };
  },
};

/** In the body, or in the query because some proxies drop the body of a DELETE. */
function namedProvider(inBody: number | undefined, inQuery: number | undefined): number {
  const named = inBody ?? inQuery;
  if (named === undefined) throw new Invalid([neither]);
  if (inQuery !== undefined && inQuery !== named) throw new Invalid([different]);
  return named;
}

const neither: Fault = { in: 'body', pointer: '/provider_id', code: 'required', message: 'is missing, in the body and in the query' };
const different: Fault = { in: 'query', name: 'provider_id', code: 'contradiction', message: 'names another provider than the body' };

function notificationView(notification: Notification): components['schemas']['Notification'] {
  return {
    monitor_id: notification.monitorId,
    provider_id: notification.providerId,
    enabled: notification.enabled,
    created_at: notification.createdAt.toISOString(),
  };
}
