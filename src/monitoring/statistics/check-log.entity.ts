import { defineEntity, p } from '@mikro-orm/core';

/** The checks of a monitor in one hour. */
export const CheckLogEntity = defineEntity({
  name: 'CheckLog',
  tableName: 'check_logs',
  properties: {
    hour: p.datetime(0).primary(),
    monitorId: p.bigint('number').primary(),
    userId: p.bigint('number').primary(),
    /** The partition. */
    slot: p.smallint().primary(),
    /** See single-check.ts. */
    checks: p.blob(),
    /** The description of the last failure in the hour. If the next one is the same, it is not stored again. */
    lastFailure: p.text().nullable(),
    /** The number of checks for which there was no space. */
    moreSuccesses: p.integer().default(0),
    moreFailures: p.integer().default(0),
  },
});
