import type { components } from '../../../generated/types/monitoring.ts';
import type { Channel } from '../channels/channel.ts';
import type { Provider } from './provider.entity.ts';
import { maskedSettings } from './provider.settings.ts';

/** The contract has validated the settings, so the body has the fields of its type. */
export function providerView(provider: Provider, channel: Channel): components['schemas']['Provider'] {
  return {
    id: provider.id,
    provider_type: provider.providerType,
    name: provider.name ?? null,
    ...maskedSettings(channel, provider.settings),
    last_delivery_error: provider.lastDeliveryError ?? null,
    created_at: provider.createdAt.toISOString(),
    updated_at: provider.updatedAt.toISOString(),
  } as components['schemas']['Provider'];
}
