import type { components } from '../../../generated/types/monitoring.ts';
import type { Vault } from '../../access/vault.ts';
import { type Fault, Invalid } from '../../errors.ts';
import type { Provider, ProviderType } from './provider.entity.ts';

/** The fields of a request, on create and on update alike. */
export type ProviderFields = components['schemas']['ProviderUpdate'];

const fieldsOf: Record<ProviderType, (keyof ProviderFields)[]> = {
  email: ['recipient_email'],
  slack: ['webhook_url', 'channel', 'username'],
  telegram: ['chat_id', 'token'],
  sms: ['phone_number'],
};

/** On create the contract itself refuses a field of another type; on update the type is known only here. */
export function refuseForeignFields(fields: ProviderFields, type: ProviderType) {
  const faults = (Object.keys(fields) as (keyof ProviderFields)[])
    .filter((field) => !fieldsOf[type].includes(field))
    .map((field): Fault => {
      const owner = (Object.keys(fieldsOf) as ProviderType[]).find((other) => fieldsOf[other].includes(field));
      return { in: 'body', pointer: `/${field}`, code: 'field_of_other_type', message: `belongs to provider_type ${owner}, not ${type}` };
    });
  if (faults.length > 0) throw new Invalid(faults);
}

/** Writes the fields that are present. A mask that comes back as it was shown keeps what is stored. */
export function applyFields(provider: Provider, fields: ProviderFields, vault: Vault) {
  if (fields.recipient_email !== undefined) provider.recipientEmail = fields.recipient_email;
  if (fields.channel !== undefined) provider.channel = fields.channel;
  if (fields.username !== undefined) provider.username = fields.username;
  if (fields.chat_id !== undefined) provider.chatId = String(fields.chat_id);
  if (fields.phone_number !== undefined) provider.phoneNumber = fields.phone_number;
  if (fields.webhook_url !== undefined && fields.webhook_url !== provider.webhookUrlMask) {
    refuseMask('webhook_url', fields.webhook_url);
    provider.webhookUrlSealed = vault.seal(fields.webhook_url, placeOf(provider, 'webhook_url'));
    provider.webhookUrlMask = mask(fields.webhook_url);
  }
  if (fields.token !== undefined && fields.token !== provider.tokenMask) {
    refuseMask('token', fields.token);
    provider.tokenSealed = vault.seal(fields.token, placeOf(provider, 'token'));
    provider.tokenMask = mask(fields.token);
  }
}

/** A stored secret, to send with. */
export function openSecret(provider: Provider, field: 'webhook_url' | 'token', vault: Vault): string {
  const sealed = field === 'token' ? provider.tokenSealed : provider.webhookUrlSealed;
  return vault.open(sealed ?? '', placeOf(provider, field));
}

function placeOf({ userId, id }: Provider, field: string) {
  return { userId, table: 'providers', row: id, field };
}

function mask(secret: string): string {
  return `****${secret.slice(-4)}`;
}

/** A mask of something else than what is stored is no secret at all. */
function refuseMask(field: string, value: string) {
  if (/^\*{4}.{4}$/.test(value)) {
    throw new Invalid([{ in: 'body', pointer: `/${field}`, code: 'unknown_mask', message: 'is a mask, but not of what is stored' }]);
  }
}
