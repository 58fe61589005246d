import { defineEntity, p } from '@mikro-orm/core';

export const SessionEntity = defineEntity({
  name: 'Session',
  tableName: 'sessions',
  properties: {
    id: p.bigint('number').primary(),
    userId: p.bigint('number'),
    tokenHash: p.blob().lazy(),
    createdAt: p.datetime(3).defaultRaw('app_now()'),
    lastUsedAt: p.datetime(3).defaultRaw('app_now()'),
  },
});
