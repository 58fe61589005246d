import type { components } from '../../../generated/types/monitoring.ts';
import type { Channel } from '../channels/channel.ts';
import type { Provider } from './provider.entity.ts';
import { maskedSettings } from './provider.settings.ts';

export const unconfirmedRecipient = 'The recipient has not confirmed the address yet.';

/** The contract has validated the settings, so the body has the fields of its type. */
export function providerView(provider: Provider, channel: Channel): components['schemas']['Provider'] {
  return {
    id: provider.id,
    provider_type: provider.providerType,
    name: provider.name ?? null,
    ...maskedSettings(channel, provider.settings),
    last_delivery_error: provider.lastDeliveryError ?? (provider.recipientUnconfirmed ? unconfirmedRecipient : null),
    created_at: provider.createdAt.toISOString(),
    updated_at: provider.updatedAt.toISOString(),
  } as components['schemas']['Provider'];
}

/** A new provider. The secret that signs its messages is shown only here. */
export function createdProviderView(
  provider: Provider,
  channel: Channel,
  signingSecret: string | undefined,
): components['schemas']['CreatedProvider'] {
  const view = { ...providerView(provider, channel), ...(signingSecret !== undefined && { signing_secret: signingSecret }) };
  return view as components['schemas']['CreatedProvider']; // A provider has a secret if the contract requires one for its type.
}
