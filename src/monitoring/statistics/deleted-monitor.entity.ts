import { defineEntity, p } from '@mikro-orm/core';

/** A monitor whose history is still to be deleted. The monitor 0 stands for the sums of a deleted user. A trigger inserts these rows. */
export const DeletedMonitorEntity = defineEntity({
  name: 'DeletedMonitor',
  tableName: 'deleted_monitors',
  properties: {
    userId: p.bigint('number').primary(),
    monitorId: p.bigint('number').primary(),
  },
});
