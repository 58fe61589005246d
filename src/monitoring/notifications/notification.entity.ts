import { defineEntity, p } from '@mikro-orm/core';
import type { RowOf } from '../../db/tables.ts';

/** A provider assigned to a monitor. */
export const NotificationEntity = defineEntity({
  name: 'Notification',
  tableName: 'notifications',
  properties: {
    userId: p.bigint('number').primary(),
    monitorId: p.bigint('number').primary(),
    providerId: p.bigint('number').primary(),
    enabled: p.boolean().default(true),
    /** How long an outage lasts before the provider is told. */
    delaySeconds: p.integer().default(0),
    remindEverySeconds: p.integer().nullable(),
    createdAt: p.datetime(3).defaultRaw('app_now()'),
  },
});

export type Notification = RowOf<typeof NotificationEntity>;
