import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { SecretCipher, SecretLocation } from '../../auth/secret-cipher.ts';
import { prepare } from '../../db/statement.ts';
import { updateTable } from '../../db/tables.ts';
import type { Signing } from '../channels/channel.ts';
import { ProviderEntity } from './provider.entity.ts';
import type { StoredSettings } from './provider.settings.ts';

/** How long a secret signs beside the one that replaces it. */
const overlapMs = 24 * 60 * 60 * 1000;
const randomByteCount = 24;

interface Owner {
  userId: number;
  id: number;
}

type Provider = Owner & { settings: StoredSettings };

/** The secrets in the settings of a provider. */
interface StoredSecrets {
  signing_secret: { encrypted: string };
  previous_signing_secret?: { encrypted: string; expires_at: string } | null;
}

/** Creates a secret in the form of Standard Webhooks. */
export function newSigningSecret(): string {
  return `whsec_${randomBytes(randomByteCount).toString('base64')}`;
}

/** Returns the settings that store the secret of a new provider. */
export function storedSecret(owner: Owner, secret: string, cipher: SecretCipher): StoredSettings {
  return { signing_secret: { encrypted: cipher.encrypt(secret, locationOf(owner, 'signing_secret')) } } satisfies StoredSecrets;
}

interface Rotated {
  changes: StoredSettings;
  /** The ciphertext of the secret that is replaced. */
  replaced: string;
  /** Until then the previous secret also signs. Null if it is lost. */
  previousExpiresAt: string | null;
}

/** Returns what replaces the secret of a provider, if it has one. */
export function rotateSecret(provider: Provider, secret: string, cipher: SecretCipher, now: number): Rotated | undefined {
  if (!hasSecrets(provider.settings)) return undefined;
  const { encrypted: replaced } = provider.settings.signing_secret;
  const previous = decryptIfPossible(replaced, locationOf(provider, 'signing_secret'), cipher);
  const expires_at = new Date(now + overlapMs).toISOString();
  const kept =
    previous === undefined ? null : { encrypted: cipher.encrypt(previous, locationOf(provider, 'previous_signing_secret')), expires_at };
  const changes = { ...storedSecret(provider, secret, cipher), previous_signing_secret: kept };
  return { changes, replaced, previousExpiresAt: kept && expires_at };
}

/** Replaces the signing secret if it is still the one that was read. What the API shows does not change, so the version stays. */
export const replaceSecret = prepare((given: { id: number; replaced: string; changes: string }) =>
  updateTable(ProviderEntity)
    .set({ settings: sql`settings || ${given.changes}::jsonb` })
    .where('id', '=', given.id)
    .where(sql<boolean>`settings #>> '{signing_secret,encrypted}' = ${given.replaced}`),
);

/** Returns what signs the messages of a provider at this time, if they are signed. */
export function signingOf(provider: Provider, cipher: SecretCipher, at: Date): Signing | undefined {
  if (!hasSecrets(provider.settings)) return undefined;
  const { signing_secret: current, previous_signing_secret: previous } = provider.settings;
  const secrets = [cipher.decrypt(current.encrypted, locationOf(provider, 'signing_secret'))];
  if (previous && Date.parse(previous.expires_at) > at.getTime()) {
    secrets.push(cipher.decrypt(previous.encrypted, locationOf(provider, 'previous_signing_secret')));
  }
  return { secrets, at };
}

/** Returns undefined if the operator has lost the key. */
function decryptIfPossible(encrypted: string, location: SecretLocation, cipher: SecretCipher): string | undefined {
  try {
    return cipher.decrypt(encrypted, location);
  } catch {
    return undefined;
  }
}

/** Whether messages of the provider are signed. */
function hasSecrets(settings: StoredSettings): settings is StoredSettings & StoredSecrets {
  return 'signing_secret' in settings;
}

function locationOf({ userId, id }: Owner, field: keyof StoredSecrets): SecretLocation {
  return { userId, table: 'providers', row: id, field };
}
