import { defineEntity, p } from '@mikro-orm/core';

/** How far hours were rolled up, in the only row of its table. */
export const RollUpProgressEntity = defineEntity({
  name: 'RollUpProgress',
  tableName: 'roll_up_progress',
  properties: {
    /** All hours before this one were rolled up. */
    hour: p.datetime(0).primary(),
    /** Of this hour, the monitors up to this id. */
    monitorId: p.bigint('number').default(0),
  },
});
