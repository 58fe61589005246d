import { defineEntity, p } from '@mikro-orm/core';

/** The checks of a monitor in one hour. */
export const CheckHourEntity = defineEntity({
  name: 'CheckHour',
  tableName: 'check_hours',
  properties: {
    userId: p.bigint('number').primary(),
    monitorId: p.bigint('number').primary(),
    hour: p.datetime(0).primary(),
    checks: p.integer(),
    failures: p.integer(),
    totalMs: p.bigint('number'),
    minMs: p.integer().nullable(),
    maxMs: p.integer().nullable(),
  },
});
