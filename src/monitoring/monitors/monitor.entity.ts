import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

export const MonitorEntity = defineEntity({
  name: 'Monitor',
  tableName: 'monitors',
  properties: {
    id: p.bigint('number').primary(),
    userId: p.bigint('number'),
    friendlyName: p.text(),
    url: p.text(),
    type: p.text().$type<'http' | 'ping'>(),
    intervalSeconds: p.integer(),
    isActive: p.boolean(),
    status: p.text().$type<'pending' | 'up' | 'down' | 'paused'>(),
    lastCheckedAt: p.datetime(3).nullable(),
    lastResponseTimeMs: p.integer().nullable(),
    lastError: p.text().nullable(),
    failures: p.smallint().default(0),
    settingsVersion: p.integer().default(1),
    stateVersion: p.integer().default(1),
    createdAt: p.datetime(3).defaultRaw('now()'),
    updatedAt: p.datetime(3).defaultRaw('now()'),
  },
});

export type Monitor = InferEntity<typeof MonitorEntity>;
