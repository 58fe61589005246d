import type { SecretCipher } from '../../auth/secret-cipher.ts';
import type { Message } from '../channels/channel.ts';
import type { Channels } from '../channels/channels.ts';
import type { Provider } from './provider.entity.ts';
import { decryptSecret } from './provider.fields.ts';

/** Sends a test or an alert through a provider. The database guarantees that the columns of its type are not null. */
export async function deliver(provider: Provider, message: Message, channels: Channels, cipher: SecretCipher): Promise<void> {
  switch (provider.providerType) {
    case 'email':
      return channels.email.send({ recipientEmail: provider.recipientEmail ?? '' }, message);
    case 'slack': {
      const { channel = null, username = null } = provider;
      return channels.slack.send({ webhookUrl: decryptSecret(provider, 'webhook_url', cipher), channel, username }, message);
    }
    case 'telegram':
      return channels.telegram.send({ chatId: provider.chatId ?? '', token: decryptSecret(provider, 'token', cipher) }, message);
    case 'sms':
      return channels.sms.send({ phoneNumber: provider.phoneNumber ?? '' }, message);
  }
}
