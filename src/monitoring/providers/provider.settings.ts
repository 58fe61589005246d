import type { SecretCipher, SecretLocation } from '../../auth/secret-cipher.ts';
import { InvalidRequest, type ValidationError } from '../../errors.ts';
import type { Channel, ProviderType } from '../channels/channel.ts';
import { type Channels, channelOf } from '../channels/registry.ts';

/** Fields of the contract, as clients send them and as channels use them. */
export type Fields = Record<string, unknown>;

/** A secret in the stored settings. The mask is what the API returns. */
interface StoredSecret {
  encrypted: string;
  mask: string;
}

/** The fields of a provider as they are stored, with a StoredSecret instead of each secret. */
export type StoredSettings = Record<string, unknown>;

interface Owner {
  userId: number;
  id: number;
}

/** Returns the settings of a new provider. */
export function newSettings(channel: Channel, owner: Owner, fields: Fields, cipher: SecretCipher): StoredSettings {
  const optional = fieldsOf(channel, 'optional').map((field) => [field, null]);
  return { ...Object.fromEntries(optional), ...toStored(channel, { ...owner, settings: {} }, fields, cipher) };
}

/** Checks fields and returns them as they are stored. A mask that is sent back unchanged keeps the stored secret. */
export function toStored(
  channel: Channel,
  provider: Owner & { settings: StoredSettings },
  fields: Fields,
  cipher: SecretCipher,
): StoredSettings {
  const errors = channel.check?.(withoutMasks(channel, fields)) ?? [];
  if (errors.length > 0) throw new InvalidRequest(errors);
  const stored: StoredSettings = { ...(channel.normalize?.(fields) ?? fields) };
  for (const field of fieldsOf(channel, 'secret')) {
    const secret = fields[field];
    if (typeof secret !== 'string') continue;
    if (secret === secretOf(provider.settings, field)?.mask) {
      delete stored[field];
      continue;
    }
    rejectForeignMask(field, secret);
    stored[field] = { encrypted: cipher.encrypt(secret, locationOf(provider, field)), mask: `****${secret.slice(-4)}` };
  }
  return stored;
}

/** Returns the fields of the type as the API shows them: masks instead of secrets. */
export function maskedSettings(channel: Channel, settings: StoredSettings): Fields {
  const masked = mapSecrets(channel, settings, (_, secret) => secret.mask);
  return Object.fromEntries(Object.keys(channel.fields).map((field) => [field, masked[field]]));
}

/** Returns the fields with their secrets, for sending. */
export function decryptSettings(channel: Channel, provider: Owner & { settings: StoredSettings }, cipher: SecretCipher): Fields {
  return mapSecrets(channel, provider.settings, (field, { encrypted }) => cipher.decrypt(encrypted, locationOf(provider, field)));
}

/** On creation the contract rejects fields of other types. On update only the stored row has the type. */
export function rejectFieldsOfOtherTypes(channels: Channels, type: ProviderType, fields: Fields) {
  const errors = Object.keys(fields)
    .filter((field) => !(field in channelOf(channels, type).fields))
    .map((field): ValidationError => {
      const owners = Object.entries(channels).filter(([, channel]) => field in channel.fields);
      const message = `is only allowed for provider_type ${owners.map(([owner]) => owner).join(' or ')}`;
      return { in: 'body', pointer: `/${field}`, code: 'field_of_other_type', message };
    });
  if (errors.length > 0) throw new InvalidRequest(errors);
}

/** Checks the fields of an update before the type is known, if only one type has them. The handler checks them with the type. */
export function updateErrors(channels: Channels, fields: Fields): ValidationError[] {
  const [channel, ...others] = Object.values(channels).filter(({ fields: own }) => Object.keys(fields).every((field) => field in own));
  return (others.length === 0 && channel?.check?.(withoutMasks(channel, fields))) || [];
}

function locationOf({ userId, id }: Owner, field: string): SecretLocation {
  return { userId, table: 'providers', row: id, field };
}

// Like the contract, it counts characters, not UTF-16 units.
const mask = /^\*{4}.{4}$/su;

function withoutMasks(channel: Channel, fields: Fields): Fields {
  const secrets = fieldsOf(channel, 'secret');
  return Object.fromEntries(Object.entries(fields).filter(([field, value]) => !(secrets.includes(field) && mask.test(String(value)))));
}

/** A mask that differs from the stored one is not a secret, so it must not be stored as one. */
function rejectForeignMask(field: string, value: string) {
  if (!mask.test(value)) return;
  const message = 'is a masked value, but not that of the stored one. Send the full value, or omit the field to keep the stored one';
  throw new InvalidRequest([{ in: 'body', pointer: `/${field}`, code: 'unknown_mask', message }]);
}

function fieldsOf({ fields }: Channel, kind: Channel['fields'][string]): string[] {
  return Object.keys(fields).filter((field) => fields[field] === kind);
}

function mapSecrets(channel: Channel, settings: StoredSettings, map: (field: string, secret: StoredSecret) => string): Fields {
  const secrets = fieldsOf(channel, 'secret').flatMap((field) => {
    const secret = secretOf(settings, field);
    return secret ? [[field, map(field, secret)]] : [];
  });
  return { ...settings, ...Object.fromEntries(secrets) };
}

/** Secrets are always stored as a StoredSecret. */
function secretOf(settings: StoredSettings, field: string): StoredSecret | undefined {
  return settings[field] as StoredSecret | undefined;
}
