import { randomBytes } from 'node:crypto';
import type { SecretCipher, SecretLocation } from '../../auth/secret-cipher.ts';
import type { Signing } from '../channels/channel.ts';
import type { StoredSettings } from './provider.settings.ts';

/** How long a secret signs beside the one that replaces it. */
const overlapMs = 24 * 60 * 60 * 1000;
const randomByteCount = 24;

interface Owner {
  userId: number;
  id: number;
}

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

/** Returns the settings that replace the secret, and until when the previous one also signs: null if it is lost. */
export function rotateSecret(
  provider: Owner & { settings: StoredSettings },
  secret: string,
  cipher: SecretCipher,
  now: number,
): { changes: StoredSettings; previousExpiresAt: string | null } {
  const previous = currentSecret(provider, cipher);
  const expires_at = new Date(now + overlapMs).toISOString();
  const kept =
    previous === undefined ? null : { encrypted: cipher.encrypt(previous, locationOf(provider, 'previous_signing_secret')), expires_at };
  return {
    changes: { ...storedSecret(provider, secret, cipher), previous_signing_secret: kept },
    previousExpiresAt: kept && expires_at,
  };
}

/** Returns what signs the messages of a provider at this time, if they are signed. */
export function signingOf(provider: Owner & { settings: StoredSettings }, cipher: SecretCipher, at: Date): Signing | undefined {
  if (!hasSecrets(provider.settings)) return undefined;
  const { signing_secret: current, previous_signing_secret: previous } = provider.settings;
  const secrets = [cipher.decrypt(current.encrypted, locationOf(provider, 'signing_secret'))];
  if (previous && Date.parse(previous.expires_at) > at.getTime()) {
    secrets.push(cipher.decrypt(previous.encrypted, locationOf(provider, 'previous_signing_secret')));
  }
  return { secrets, at };
}

/** Returns undefined if the operator has lost the key that encrypted the secret. */
function currentSecret(provider: Owner & { settings: StoredSettings }, cipher: SecretCipher): string | undefined {
  if (!hasSecrets(provider.settings)) return undefined;
  try {
    return cipher.decrypt(provider.settings.signing_secret.encrypted, locationOf(provider, 'signing_secret'));
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
