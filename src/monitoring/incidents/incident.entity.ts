import { defineEntity, p } from '@mikro-orm/core';
import type { RowOf } from '../../db/tables.ts';

export const IncidentEntity = defineEntity({
  name: 'Incident',
  tableName: 'incidents',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    userId: p.bigint('number'),
    monitorId: p.bigint('number'),
    startedAt: p.datetime(3),
    /** Null while the incident is open. */
    resolvedAt: p.datetime(3).nullable(),
    cause: p.text(),
    statusCode: p.integer().nullable(),
    /** Null unless a user has acknowledged it. */
    acknowledgedAt: p.datetime(3).nullable(),
    /** When the next reminder may be due. Null if no provider gets reminders. */
    remindAt: p.datetime(3).nullable().lazy(),
  },
});

export type Incident = RowOf<typeof IncidentEntity>;
