import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

/** A provider assigned to a monitor. */
export const NotificationEntity = defineEntity({
  name: 'Notification',
  tableName: 'notifications',
  properties: {
    userId: p.bigint('number').primary(),
    monitorId: p.bigint('number').primary(),
    providerId: p.bigint('number').primary(),
    enabled: p.boolean(),
    createdAt: p.datetime(3).defaultRaw('now()'),
  },
});

export type Notification = InferEntity<typeof NotificationEntity>;
