import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

export const WebsiteEntity = defineEntity({
  name: 'Website',
  tableName: 'websites',
  properties: {
    id: p.bigint('number').primary(),
    userId: p.bigint('number'),
    domain: p.text(),
    privacy: p.smallint().$type<0 | 1 | 2>().default(0),
    passwordHash: p.text().nullable(),
    email: p.smallint().$type<0 | 1>().default(0),
    excludeBots: p.smallint().$type<0 | 1>().default(1),
    excludeParams: p.text().default(''),
    excludeIps: p.text().default(''),
    favorite: p.boolean().default(false),
    version: p.integer().default(1),
    createdAt: p.datetime(3).defaultRaw('now()'),
    updatedAt: p.datetime(3).defaultRaw('now()'),
  },
});

export type Website = InferEntity<typeof WebsiteEntity>;
