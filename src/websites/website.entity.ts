import { defineEntity, p } from '@mikro-orm/core';
import type { RowOf } from '../db/tables.ts';

/** Lazy properties are read only by the statements that name them. */
export const WebsiteEntity = defineEntity({
  name: 'Website',
  tableName: 'websites',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    userId: p.bigint('number').lazy(),
    domain: p.text(),
    /** The domain as people write it, if that differs. */
    domainUnicode: p.text().nullable().lazy(),
    privacy: p.smallint().$type<0 | 1 | 2>().default(0),
    passwordHash: p.text().nullable().lazy(),
    hasPassword: p.boolean().generated('password_hash is not null').default(false),
    email: p.smallint().$type<0 | 1>().default(0),
    excludeBots: p.smallint().$type<0 | 1>().default(1),
    excludeParams: p.text().default(''),
    excludeIps: p.text().default(''),
    favorite: p.boolean().default(false),
    version: p.integer().default(1),
    createdAt: p.datetime(3).defaultRaw('app_now()'),
    updatedAt: p.datetime(3).defaultRaw('app_now()'),
  },
});

export type Website = RowOf<typeof WebsiteEntity>;
