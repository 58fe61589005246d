import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

export type ProviderType = 'email' | 'slack' | 'telegram' | 'sms';

export const ProviderEntity = defineEntity({
  name: 'Provider',
  tableName: 'providers',
  properties: {
    id: p.bigint('number').primary(),
    userId: p.bigint('number'),
    providerType: p.text().$type<ProviderType>(),
    recipientEmail: p.text().nullable(),
    webhookUrlEncrypted: p.text().nullable(),
    webhookUrlMask: p.text().nullable(),
    channel: p.text().nullable(),
    username: p.text().nullable(),
    chatId: p.text().nullable(),
    tokenEncrypted: p.text().nullable(),
    tokenMask: p.text().nullable(),
    phoneNumber: p.text().nullable(),
    version: p.integer().default(1),
    createdAt: p.datetime(3).defaultRaw('now()'),
    updatedAt: p.datetime(3).defaultRaw('now()'),
  },
});

export type Provider = InferEntity<typeof ProviderEntity>;
