import { defineEntity, p } from '@mikro-orm/core';

/** The response to a request that carried an Idempotency-Key. */
export const IdempotentResponseEntity = defineEntity({
  name: 'IdempotentResponse',
  tableName: 'idempotent_responses',
  properties: {
    userId: p.bigint('number').primary(),
    operation: p.text().primary(),
    idempotencyKey: p.text().primary(),
    requestHash: p.blob(),
    response: p.json(),
    createdAt: p.datetime(3).defaultRaw('app_now()'),
  },
});
