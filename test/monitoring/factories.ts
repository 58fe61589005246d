import { expect } from 'vitest';
import monitoring from '../../generated/monitoring.json' with { type: 'json' };
import type { components } from '../../generated/types/monitoring.ts';
import type { TestUser } from '../support/service.ts';

interface Created {
  id: number;
  path: string;
  etag: string;
  data: Record<string, unknown>;
}

export const monitorExample = { friendly_name: 'Shop', url: 'https://shop.example.org/health' };

export const telegramToken = '123456789:AAExampleExampleExampleExampleExamp';
export const webhookUrl = 'https://hooks.slack.com/services/T000/B000/examplesecretpath';
export const providerExamples = {
  email: { provider_type: 'email', recipient_email: 'ops@example.com' },
  slack: { provider_type: 'slack', webhook_url: webhookUrl, channel: '#ops', username: 'Sitekeeper' },
  telegram: { provider_type: 'telegram', chat_id: '-1001234567890', token: telegramToken },
  sms: { provider_type: 'sms', phone_number: '+14155550123' },
  discord: { provider_type: 'discord', webhook_url: 'https://discord.com/api/webhooks/1234/examplesecretdisc' },
  teams: { provider_type: 'teams', webhook_url: 'https://prod-1.westeurope.logic.azure.com/workflows/invoke?sig=examplesecretteam' },
  pagerduty: { provider_type: 'pagerduty', routing_key: 'examplesecret012345678901234page' },
  webhook: { provider_type: 'webhook', webhook_url: 'https://board.example.com/hooks/examplesecretpath' },
} as const satisfies Record<components['schemas']['ProviderCreate']['provider_type'], object>;
export type ProviderType = keyof typeof providerExamples;
/** How responses show the secrets of the examples. */
export const providerMasks: Partial<Record<ProviderType, object>> = {
  slack: { webhook_url: '****path' },
  telegram: { token: '****xamp' },
  webhook: { webhook_url: '****path' },
  discord: { webhook_url: '****disc' },
  teams: { webhook_url: '****team' },
  pagerduty: { routing_key: '****page' },
};
/** The monitor types of the contract. */
export const monitorTypes = monitoring.components.schemas.MonitorCreate.properties.type.enum;
export const providerTypes = Object.keys(providerExamples) as ProviderType[];

export function createMonitor(user: TestUser, fields: object = {}): Promise<Created> {
  return create(user, '/api/monitors', { ...monitorExample, ...fields });
}

export function createProvider(user: TestUser, type: ProviderType = 'email'): Promise<Created> {
  return create(user, '/api/providers', providerExamples[type]);
}

async function create({ api }: TestUser, collection: string, json: object): Promise<Created> {
  const { status, body, headers } = await api.post(collection, { json });
  expect(status).toBe(201);
  const { signing_secret: _, ...data } = body.data; // It is shown only on creation.
  return { id: data.id, path: `${collection}/${data.id}`, etag: headers.get('ETag') ?? '', data };
}
