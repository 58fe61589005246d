import { defineEntity, p } from '@mikro-orm/core';

export const UserEntity = defineEntity({
  name: 'User',
  tableName: 'users',
  properties: {
    id: p.bigint('number').primary(),
    email: p.text(),
    passwordHash: p.text().nullable().lazy(),
    createdAt: p.datetime(3).defaultRaw('app_now()'),
  },
});
