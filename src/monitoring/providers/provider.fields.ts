import type { components } from '../../../generated/types/monitoring.ts';
import type { SecretCipher, SecretLocation } from '../../auth/secret-cipher.ts';
import { InvalidRequest, type ValidationError } from '../../errors.ts';
import type { Provider, ProviderType } from './provider.entity.ts';

/** The fields that create and update requests can set. */
export type ProviderFields = Omit<components['schemas']['ProviderUpdate'], 'provider_type' | 'id' | 'created_at' | 'updated_at'>;

const fieldsByType: Record<ProviderType, (keyof ProviderFields)[]> = {
  email: ['recipient_email'],
  slack: ['webhook_url', 'channel', 'username'],
  telegram: ['chat_id', 'token'],
  sms: ['phone_number'],
};

export function rejectOtherType(given: ProviderType | undefined, stored: ProviderType) {
  if (given === undefined || given === stored) return;
  throw new InvalidRequest([{ in: 'body', pointer: '/provider_type', code: 'immutable', message: `cannot be changed from ${stored}` }]);
}

/** On creation the contract rejects fields of other types. On update only the stored row has the type. */
export function rejectFieldsOfOtherTypes(fields: ProviderFields, type: ProviderType) {
  const errors = (Object.keys(fields) as (keyof ProviderFields)[])
    .filter((field) => !fieldsByType[type].includes(field))
    .map((field): ValidationError => {
      const owner = (Object.keys(fieldsByType) as ProviderType[]).find((other) => fieldsByType[other].includes(field));
      return { in: 'body', pointer: `/${field}`, code: 'field_of_other_type', message: `is only allowed for provider_type ${owner}` };
    });
  if (errors.length > 0) throw new InvalidRequest(errors);
}

/** Sets the fields that are present. A mask that is sent back unchanged keeps the stored secret. */
export function applyFields(provider: Provider, fields: ProviderFields, cipher: SecretCipher) {
  if (fields.recipient_email !== undefined) provider.recipientEmail = fields.recipient_email;
  if (fields.channel !== undefined) provider.channel = fields.channel;
  if (fields.username !== undefined) provider.username = fields.username;
  if (fields.chat_id !== undefined) provider.chatId = String(fields.chat_id);
  if (fields.phone_number !== undefined) provider.phoneNumber = fields.phone_number;
  if (fields.webhook_url !== undefined && fields.webhook_url !== provider.webhookUrlMask) {
    rejectForeignMask('webhook_url', fields.webhook_url);
    provider.webhookUrlEncrypted = cipher.encrypt(fields.webhook_url, locationOf(provider, 'webhook_url'));
    provider.webhookUrlMask = mask(fields.webhook_url);
  }
  if (fields.token !== undefined && fields.token !== provider.tokenMask) {
    rejectForeignMask('token', fields.token);
    provider.tokenEncrypted = cipher.encrypt(fields.token, locationOf(provider, 'token'));
    provider.tokenMask = mask(fields.token);
  }
}

/** Decrypts a stored secret for sending. */
export function decryptSecret(provider: Provider, field: 'webhook_url' | 'token', cipher: SecretCipher): string {
  const encrypted = field === 'token' ? provider.tokenEncrypted : provider.webhookUrlEncrypted;
  return cipher.decrypt(encrypted ?? '', locationOf(provider, field));
}

export function locationOf({ userId, id }: Pick<Provider, 'userId' | 'id'>, field: string): SecretLocation {
  return { userId, table: 'providers', row: id, field };
}

function mask(secret: string): string {
  return `****${secret.slice(-4)}`;
}

/** A mask that differs from the stored one is not a secret, so it must not be stored as one. */
function rejectForeignMask(field: string, value: string) {
  if (/^\*{4}.{4}$/.test(value)) {
    throw new InvalidRequest([
      {
        in: 'body',
        pointer: `/${field}`,
        code: 'unknown_mask',
        message: 'is a masked value, but not that of the stored one. Send the full value, or omit the field to keep the stored one',
      },
    ]);
  }
}
