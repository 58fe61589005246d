import type { components } from '../../../generated/types/monitoring.ts';
import type { Provider } from './provider.entity.ts';

/** Returns masks instead of secrets. The database guarantees that the columns of its type are not null. */
export function providerView(provider: Provider): components['schemas']['Provider'] {
  const { id, createdAt, updatedAt } = provider;
  const times = { created_at: createdAt.toISOString(), updated_at: updatedAt.toISOString() };
  switch (provider.providerType) {
    case 'email':
      return { id, provider_type: 'email', recipient_email: provider.recipientEmail ?? '', ...times };
    case 'slack':
      return {
        id,
        provider_type: 'slack',
        webhook_url: provider.webhookUrlMask ?? '',
        channel: provider.channel ?? null,
        username: provider.username ?? null,
        ...times,
      };
    case 'telegram':
      return { id, provider_type: 'telegram', chat_id: provider.chatId ?? '', token: provider.tokenMask ?? '', ...times };
    case 'sms':
      return { id, provider_type: 'sms', phone_number: provider.phoneNumber ?? '', ...times };
  }
}
