import type { components } from '../../../../generated/types/monitoring.ts';
import type { SecretCipher, SecretLocation } from '../../../auth/secret-cipher.ts';
import { InvalidRequest, type ValidationError } from '../../../errors.ts';
import type { CheckTarget, OptionsChange } from '../check.ts';
import { LocalFailure } from '../local-failure.ts';

type SentHeader = components['schemas']['RequestHeaderCreate'];
type Owner = Pick<CheckTarget, 'id' | 'userId'>;

/** A header of a request as it is stored. The mask is what the API returns instead of a secret. */
export type StoredHeader = { name: string; value: string } | { name: string; value: { encrypted: string; mask: string } };

/** What a change of headers depends on. */
interface HeadersChange extends Pick<OptionsChange, 'monitor' | 'cipher'> {
  /** Whether stored secrets are still sent to the same server only. */
  mayKeepSecrets: boolean;
}

/** These are usually no secrets. */
const plainByDefault = new Set(['accept', 'accept-language', 'content-type', 'user-agent']);

/** They belong to the connection, or the service sets them. */
const forbidden = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Returns what a schema cannot express about headers. */
export function headerErrors(headers: SentHeader[]): ValidationError[] {
  const names = headers.map(({ name }) => name.toLowerCase());
  return names.flatMap((name, index): ValidationError[] => {
    const pointer = `/http/headers/${index}/name`;
    if (forbidden.has(name)) return [{ in: 'body', pointer, code: 'not_allowed', message: 'cannot be set' }];
    if (names.indexOf(name) < index) return [{ in: 'body', pointer, code: 'repeated', message: 'must not be repeated' }];
    return [];
  });
}

/** Encrypts the secrets among headers that are sent. A mask keeps the stored value. */
export function storeHeaders(
  sent: SentHeader[],
  stored: StoredHeader[],
  { monitor, mayKeepSecrets, cipher }: HeadersChange,
): StoredHeader[] {
  return sent.map(({ name, value, secret }, index) => {
    const before = stored.find((header) => header.name.toLowerCase() === name.toLowerCase());
    if (mask.test(value)) {
      if (before && maskOf(before) === value && mayKeepSecrets && secret !== false) return { ...before, name };
      throw new InvalidRequest([unknownMask(index)]);
    }
    if (!(secret ?? !plainByDefault.has(name.toLowerCase()))) return { name, value };
    // Encrypted again, it would differ, and the monitor would be reset although nothing has changed.
    if (before && isSameSecret(before, value, monitor, cipher)) return { ...before, name };
    return { name, value: { encrypted: cipher.encrypt(value, locationOf(monitor, name)), mask: toMask(value) } };
  });
}

function isSameSecret({ name, value: stored }: StoredHeader, value: string, owner: Owner, cipher: SecretCipher): boolean {
  try {
    return typeof stored !== 'string' && cipher.decrypt(stored.encrypted, locationOf(owner, name)) === value;
  } catch {
    return false; // The operator has lost the key.
  }
}

/** Keeps the stored headers. Whoever can change a monitor must not be able to read its secrets by sending them elsewhere. */
export function keepHeaders(stored: StoredHeader[], { mayKeepSecrets }: HeadersChange): StoredHeader[] {
  if (!mayKeepSecrets && stored.some((header) => maskOf(header) !== undefined)) throw new InvalidRequest([secretsNeeded]);
  return stored;
}

/** Returns headers as the API shows them. */
export function maskHeaders(headers: StoredHeader[]): components['schemas']['RequestHeader'][] {
  return headers.map((header) => {
    const masked = maskOf(header);
    return { name: header.name, value: masked ?? String(header.value), secret: masked !== undefined };
  });
}

/** Returns headers as they are sent, and the names of those that must not be sent to another origin. */
export function decryptHeaders(headers: StoredHeader[], owner: Owner, cipher: SecretCipher) {
  try {
    const decrypted = headers.map(({ name, value }): [string, string] => [
      name,
      typeof value === 'string' ? value : cipher.decrypt(value.encrypted, locationOf(owner, name)),
    ]);
    const secretNames = headers.filter((header) => maskOf(header) !== undefined).map(({ name }) => name);
    return { headers: Object.fromEntries(decrypted), secretNames };
  } catch (error) {
    return new LocalFailure('a secret header cannot be decrypted with the keys of this service', { cause: error });
  }
}

function locationOf({ userId, id }: Owner, name: string): SecretLocation {
  return { userId, table: 'monitors', row: id, field: `headers.${name.toLowerCase()}` };
}

const mask = /^\*{4}.{0,4}$/s;
const shownCharacters = 4;
/** The end of a shorter secret would reveal too much of it. */
const shortSecret = 20;

function toMask(secret: string): string {
  return `****${secret.length < shortSecret ? '' : secret.slice(-shownCharacters)}`;
}

function maskOf({ value }: StoredHeader): string | undefined {
  return typeof value === 'string' ? undefined : value.mask;
}

function unknownMask(index: number): ValidationError {
  const message =
    'is a mask, which keeps a stored value only if it is the current mask of a secret header with this name, the header stays secret, url keeps its origin and verify_tls is not turned off. Send the full value';
  return { in: 'body', pointer: `/http/headers/${index}/value`, code: 'unknown_mask', message };
}

const secretsNeeded: ValidationError = {
  in: 'body',
  pointer: '/http/headers',
  code: 'secrets_needed',
  message: 'must be sent with the full values of secret headers, because the origin of url changes or verify_tls is turned off',
};
