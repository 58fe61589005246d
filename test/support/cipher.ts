import { SecretCipher } from '../../src/auth/secret-cipher.ts';

/** Encrypts the secrets of tests that need no key of their own. */
export const testCipher = new SecretCipher([Buffer.alloc(32, 1)]);
