import { defineEntity, p } from '@mikro-orm/core';
import type { RowOf } from '../../db/tables.ts';
import type { EventType, StoredEvent } from '../messages/event.ts';

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
    kind: p.text().$type<EventType>(),
    /** Numbers the reminders of an incident. */
    sequence: p.integer().default(0),
    payload: p.json<StoredEvent>(),
    /** Failed alerts were rejected or given up. Suppressed ones were not sent on purpose. */
    status: p.text().$type<'queued' | 'sent' | 'failed' | 'suppressed'>().default('queued'),
    attempts: p.integer().default(0),
    nextAttemptAt: p.datetime(3).defaultRaw('app_now()'),
    /** Only the process that holds this token may record the result of an attempt. */
    leaseToken: p.bigint('number').nullable(),
    lastError: p.text().nullable(),
    createdAt: p.datetime(3).defaultRaw('app_now()'),
    /** From when on it is to be sent: later than its creation if it has a delay, or is sent again because the user asks for that. */
    queuedAt: p.datetime(3).defaultRaw('app_now()'),
    doneAt: p.datetime(3).nullable(),
    /** When it was delivered for the first time. It may be queued again since. */
    firstSentAt: p.datetime(3).nullable(),
    /** When the user had it sent again. */
    repeatedAt: p.datetime(3).nullable(),
    /** When it was counted toward the limits of messages. A retry is not counted again. */
    countedAt: p.datetime(3).nullable(),
  },
});

export type Alert = RowOf<typeof AlertEntity>;
