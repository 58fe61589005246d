import { defineEntity, p } from '@mikro-orm/core';

/** The statistics of the days of a month: of a monitor, or, with the monitor 0, of all monitors of a user. */
export const DayStatisticsEntity = defineEntity({
  name: 'DayStatistics',
  tableName: 'day_statistics',
  properties: {
    userId: p.bigint('number').primary(),
    monitorId: p.bigint('number').primary(),
    month: p.date().primary(),
    /** The partition. */
    slot: p.smallint().primary(),
    /** See chunk.ts. */
    days: p.blob(),
  },
});
