import { defineEntity, p } from '@mikro-orm/core';

export type AlertKind = 'down' | 'recovered' | 'tls_expiring';

/** A message in the outbox: one per incident, provider and kind, or one per provider about a monitor. */
export const AlertEntity = defineEntity({
  name: 'Alert',
  tableName: 'alerts',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    userId: p.bigint('number'),
    incidentId: p.bigint('number').nullable(),
    /** Only alerts that are about no incident have it. */
    monitorId: p.bigint('number').nullable(),
    providerId: p.bigint('number'),
    kind: p.text().$type<AlertKind>(),
    subject: p.text(),
    body: p.text(),
    status: p.text().$type<'pending' | 'sent' | 'failed'>().default('pending'),
    attempts: p.integer().default(0),
    nextAttemptAt: p.datetime(3).defaultRaw('app_now()'),
    /** Only the process that holds this token may record the result of an attempt. */
    leaseToken: p.bigint('number').nullable(),
    lastError: p.text().nullable(),
    createdAt: p.datetime(3).defaultRaw('app_now()'),
    doneAt: p.datetime(3).nullable(),
    /** When it was counted toward the limits of messages. A retry is not counted again. */
    countedAt: p.datetime(3).nullable(),
  },
});
