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
    /** Whether the recipient still has to confirm the address. Until then only the link is sent. */
    recipientUnconfirmed: p.boolean().default(false),
    /** What the last attempt to send a message has failed with. Null after a success. */
    lastDeliveryError: p.text().nullable(),
    /** Since when every attempt has failed. */
    failingSince: p.datetime(3).nullable(),
    failedAttempts: p.integer().default(0),
    /** When the user was told that the provider fails. */
    failingToldAt: p.datetime(3).nullable().lazy(),
    /** Until then no message is sent. */
    nextMessageAt: p.datetime(3).nullable().lazy(),
    /** The messages since the first one of the last half minute. */
    burstStartedAt: p.datetime(3).nullable().lazy(),
    burstMessages: p.integer().default(0).lazy(),
    version: p.integer().default(1),
    createdAt: p.datetime(3).defaultRaw('app_now()'),
    updatedAt: p.datetime(3).defaultRaw('app_now()'),
  },
});

export type Provider = RowOf<typeof ProviderEntity>;
