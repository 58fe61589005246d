import { defineEntity, p } from '@mikro-orm/core';

/** A message in the outbox: one per incident, provider and kind. */
export const AlertEntity = defineEntity({
  name: 'Alert',
  tableName: 'alerts',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    userId: p.bigint('number'),
    incidentId: p.bigint('number'),
    providerId: p.bigint('number'),
    kind: p.text().$type<'down' | 'recovered'>(),
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
