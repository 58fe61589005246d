import type { Vault } from '../../access/vault.ts';
import type { Message } from '../channels/channel.ts';
import type { Channels } from '../channels/channels.ts';
import type { Provider } from './provider.entity.ts';
import { openSecret } from './provider.fields.ts';

/** Sends a message through a provider: for a test and for an alert alike. The columns of its type are never null. */
export async function deliver(provider: Provider, message: Message, channels: Channels, vault: Vault): Promise<void> {
  switch (provider.providerType) {
    case 'email':
      return channels.email.send({ recipientEmail: provider.recipientEmail ?? '' }, message);
    case 'slack': {
      const { channel = null, username = null } = provider;
      return channels.slack.send({ webhookUrl: openSecret(provider, 'webhook_url', vault), channel, username }, message);
    }
    case 'telegram':
      return channels.telegram.send({ chatId: provider.chatId ?? '', token: openSecret(provider, 'token', vault) }, message);
    case 'sms':
      return channels.sms.send({ phoneNumber: provider.phoneNumber ?? '' }, message);
  }
}
