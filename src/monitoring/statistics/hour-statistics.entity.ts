import { defineEntity, p } from '@mikro-orm/core';

/** The statistics of the hours of a day: of a monitor, or, with the monitor 0, of all monitors of a user. */
export const HourStatisticsEntity = defineEntity({
  name: 'HourStatistics',
  tableName: 'hour_statistics',
  properties: {
    userId: p.bigint('number').primary(),
    monitorId: p.bigint('number').primary(),
    day: p.date().primary(),
    /** The partition. */
    slot: p.smallint().primary(),
    /** See chunk.ts. */
    hours: p.blob(),
  },
});
