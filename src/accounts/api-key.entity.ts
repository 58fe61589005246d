import { defineEntity, p } from '@mikro-orm/core';
import type { Scope } from '../auth/scopes.ts';
import type { RowOf } from '../db/tables.ts';

export const ApiKeyEntity = defineEntity({
  name: 'ApiKey',
  tableName: 'api_keys',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    userId: p.bigint('number'),
    /** The key that created this one; null if a session or the operator did. */
    createdBy: p.bigint('number').nullable(),
    name: p.text(),
    scopes: p.array().$type<Scope[]>(),
    prefix: p.text(),
    keyHash: p.blob().lazy(),
    createdAt: p.datetime(3).defaultRaw('app_now()'),
    lastUsedAt: p.datetime(3).nullable(),
    expiresAt: p.datetime(3).nullable(),
  },
});

export type ApiKey = RowOf<typeof ApiKeyEntity>;
