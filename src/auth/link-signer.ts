import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

const keyBytes = 32;

/**
 * Signs the links in mails, so that nothing has to be stored for them. A signature holds for one purpose and one subject. There can
 * be several secret keys, newest first: the newest signs, and links of the others stay valid as long as their key is there.
 */
export class LinkSigner {
  readonly #keys: Buffer[];

  constructor(secretKeys: readonly Buffer[]) {
    this.#keys = secretKeys.map((key) => Buffer.from(hkdfSync('sha256', key, '', 'sitekeeper links', keyBytes)));
  }

  /** Returns 43 characters of base64url. `subject` is everything that the link is about. */
  sign(purpose: string, ...subject: (string | number)[]): string {
    const [newest] = this.#keys;
    if (!newest) throw new Error('There is no secret key.');
    return signatureOf(newest, [purpose, ...subject]);
  }

  /** Whether one of the keys has made the signature. The time it takes does not depend on how much of it is right. */
  verify(signature: string, purpose: string, ...subject: (string | number)[]): boolean {
    const given = Buffer.from(signature);
    return this.#keys
      .map((key) => Buffer.from(signatureOf(key, [purpose, ...subject])))
      .map((expected) => given.length === expected.length && timingSafeEqual(given, expected))
      .includes(true);
  }
}

function signatureOf(key: Buffer, parts: (string | number)[]): string {
  return createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url');
}
