import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** Where a secret belongs. It cannot be read in any other place, so that rows cannot be swapped. */
export interface Place {
  userId: number;
  table: string;
  row: number | string;
  field: string;
}

const version = 'v1';
const ivBytes = 12;
const tagBytes = 16;

/**
 * Encrypts what must be read again, such as the token of a bot, with AES-256-GCM. Several keys, newest first: the newest
 * encrypts, each stored secret names the one it needs, so that a key can be replaced while old secrets stay readable.
 */
export class Vault {
  readonly #keys: Map<string, Buffer>;
  readonly #newest: string;

  constructor(keys: Buffer[]) {
    this.#keys = new Map(keys.map((key) => [keyId(key), key]));
    const [newest] = this.#keys.keys();
    if (newest === undefined) throw new Error('There is no secret key.');
    this.#newest = newest;
  }

  seal(secret: string, place: Place): string {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#key(this.#newest), iv).setAAD(aad(place));
    const sealed = Buffer.concat([iv, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${version}.${this.#newest}.${sealed.toString('base64url')}`;
  }

  open(sealed: string, place: Place): string {
    const [given, id = '', text = ''] = sealed.split('.');
    const bytes = Buffer.from(text, 'base64url');
    if (given !== version || bytes.length < ivBytes + tagBytes) throw new Error('This is not a sealed secret.');
    const decipher = createDecipheriv('aes-256-gcm', this.#key(id), bytes.subarray(0, ivBytes)).setAAD(aad(place));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    return decipher.update(bytes.subarray(ivBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
  }

  #key(id: string): Buffer {
    const key = this.#keys.get(id);
    if (!key) throw new Error(`The secret was sealed with the key ${id}, which is not in SECRET_KEY.`);
    return key;
  }
}

/** Tells keys apart and says nothing about them. */
function keyId(key: Buffer): string {
  return createHash('sha256').update('sitekeeper key id').update(key).digest('hex').slice(0, 8);
}

function aad({ userId, table, row, field }: Place): Buffer {
  return Buffer.from(JSON.stringify([userId, table, row, field]));
}
