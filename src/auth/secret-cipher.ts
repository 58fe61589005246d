import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** Where a secret is stored. The ciphertext is bound to it, so that ciphertexts cannot be swapped between rows. */
export interface SecretLocation {
  userId: number;
  table: string;
  row: number | string;
  field: string;
}

const version = 'v1';
const ivBytes = 12;
const tagBytes = 16;

/**
 * Encrypts secrets that must be read again, such as bot tokens, with AES-256-GCM. There can be several keys, newest first:
 * the newest encrypts, and each ciphertext names its key, so that a key can be replaced while older secrets stay readable.
 */
export class SecretCipher {
  readonly #keys: Map<string, Buffer>;
  readonly #newest: string;

  /** The id of the key that encrypts. */
  get newestKey(): string {
    return this.#newest;
  }

  constructor(keys: Buffer[]) {
    this.#keys = new Map(keys.map((key) => [keyId(key), key]));
    const [newest] = this.#keys.keys();
    if (newest === undefined) throw new Error('There is no secret key.');
    this.#newest = newest;
  }

  encrypt(secret: string, location: SecretLocation): string {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#key(this.#newest), iv).setAAD(authenticatedData(location));
    const encrypted = Buffer.concat([iv, cipher.update(secret), cipher.final(), cipher.getAuthTag()]);
    return `${version}.${this.#newest}.${encrypted.toString('base64url')}`;
  }

  decrypt(encrypted: string, location: SecretLocation): string {
    const [given, id = '', text = ''] = encrypted.split('.');
    const bytes = Buffer.from(text, 'base64url');
    if (given !== version || bytes.length < ivBytes + tagBytes) throw new Error('This is not an encrypted secret.');
    const decipher = createDecipheriv('aes-256-gcm', this.#key(id), bytes.subarray(0, ivBytes)).setAAD(authenticatedData(location));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    return Buffer.concat([decipher.update(bytes.subarray(ivBytes, -tagBytes)), decipher.final()]).toString();
  }

  /** Whether there is a key with this id. */
  hasKey(id: string): boolean {
    return this.#keys.has(id);
  }

  #key(id: string): Buffer {
    const key = this.#keys.get(id);
    if (!key) throw new Error(`The secret was encrypted with the key ${id}, which is not in SECRET_KEY.`);
    return key;
  }
}

/** Identifies a key without revealing anything about it. */
function keyId(key: Buffer): string {
  return createHash('sha256').update('sitekeeper key id').update(key).digest('hex').slice(0, 8);
}

function authenticatedData({ userId, table, row, field }: SecretLocation): Buffer {
  return Buffer.from(JSON.stringify([userId, table, row, field]));
}
