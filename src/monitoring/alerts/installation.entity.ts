import { defineEntity, p } from '@mikro-orm/core';

/** The database itself. There is one row. */
export const InstallationEntity = defineEntity({
  name: 'Installation',
  tableName: 'installation',
  properties: {
    id: p.uuid().primary().defaultRaw('gen_random_uuid()'),
  },
});
