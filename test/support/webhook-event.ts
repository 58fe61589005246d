// Checks what webhooks receive against the contract, with the code of others.
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { expect } from 'vitest';
import monitoring from '../../generated/monitoring.json' with { type: 'json' };
import type { components } from '../../generated/types/monitoring.ts';
import { dereference } from './dereference.ts';

export type WebhookEvent = components['schemas']['WebhookEvent'];

const document = dereference(monitoring) as { components: { schemas: { WebhookEvent: object } } };
const ajv = new Ajv({ strict: false, allErrors: true, discriminator: true });
formats.default(ajv);
const validate = ajv.compile<WebhookEvent>(
  JSON.parse(JSON.stringify(document.components.schemas.WebhookEvent), (key, value) => {
    if (key === 'discriminator') return { propertyName: value.propertyName };
    // A field that the contract does not declare must not be sent.
    return value?.type === 'object' && value.properties ? { ...value, additionalProperties: false } : value;
  }),
);

/** Parses a body that must be an event of the contract. */
export function parseEvent(body: string): WebhookEvent {
  const event: unknown = JSON.parse(body);
  expect(validate(event) || ajv.errorsText(validate.errors)).toBe(true);
  return event as WebhookEvent;
}
