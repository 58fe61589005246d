import { defineEntity, p } from '@mikro-orm/core';

/** The messages of a user in one period: of a provider in an hour, or of a channel in a day. */
export const MessageCountEntity = defineEntity({
  name: 'MessageCount',
  tableName: 'message_counts',
  properties: {
    userId: p.bigint('number').primary(),
    counter: p.text().primary(),
    periodStart: p.datetime(0).primary(),
    messages: p.integer(),
  },
});
