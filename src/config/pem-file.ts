import { createPrivateKey, X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { readRegularFile } from './regular-file.ts';

/** The certificates of all authorities that Debian knows take 220 KiB. */
const maxBytes = 1024 * 1024;

export const certificateFile = pemFile('certificates', (pem) => new X509Certificate(pem));
export const privateKeyFile = pemFile('a private key', createPrivateKey);

/** The path of a file in PEM format. */
function pemFile(content: string, parse: (pem: Buffer) => unknown) {
  return z.string().superRefine((path, context) => {
    const reject = (reason: string) => context.addIssue({ code: 'custom', message: `cannot use the file ${path}: ${reason}` });
    let pem: Buffer;
    try {
      pem = readRegularFile(path, maxBytes);
    } catch (error) {
      return reject((error as Error).message);
    }
    try {
      parse(pem);
    } catch {
      reject(`it does not contain ${content} in PEM format`);
    }
  });
}
