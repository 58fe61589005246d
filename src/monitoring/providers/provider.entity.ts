import { defineEntity, p } from '@mikro-orm/core';
import type { RowOf } from '../../db/tables.ts';
import type { ProviderType } from '../channels/channel.ts';
import type { StoredSettings } from './provider.settings.ts';

export const ProviderEntity = defineEntity({
  name: 'Provider',
  tableName: 'providers',
  properties: {
    id: p.bigint('number').primary(),
    userId: p.bigint('number'),
    /** What the user calls it. */
    name: p.text().nullable(),
    providerType: p.text().$type<ProviderType>(),
    /** The fields of the type, as in the contract. Secrets are encrypted. */
    settings: p.json<StoredSettings>(),
    version: p.integer().default(1),
    createdAt: p.datetime(3).defaultRaw('app_now()'),
    updatedAt: p.datetime(3).defaultRaw('app_now()'),
  },
});

export type Provider = RowOf<typeof ProviderEntity>;
