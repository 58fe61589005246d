import { SecretCipher } from '../auth/secret-cipher.ts';
import { addSecretKey, removeOldSecretKeys } from '../db/secret-key-file.ts';
import { OperatorError } from '../errors.ts';
import { countByKey, rotateSecrets } from '../monitoring/secret-rotation.ts';
import type { Command } from './command.ts';

/** How many secrets that cannot be decrypted are listed. */
const maxListed = 20;

const names = { providers: 'Provider', monitors: 'Monitor' };

interface KeyStatus {
  key: string;
  secrets: number;
  state: 'newest' | 'older' | 'unknown';
}

export const secretsStatusCommand: Command<object, KeyStatus[]> = async ({ database, secretKeys }) => {
  const cipher = new SecretCipher(secretKeys);
  const counts = await countByKey(database);
  if (!counts.has(cipher.newestKey)) counts.set(cipher.newestKey, 0);
  return [...counts].map(([key, secrets]) => ({
    key,
    secrets,
    state: key === cipher.newestKey ? 'newest' : cipher.hasKey(key) ? 'older' : 'unknown',
  }));
};

interface Rotation {
  /** The id of the key that encrypts every secret now. */
  key: string;
  rotated: number;
  /** Where older keys can be removed. secret.key contains none any more. */
  keys_in: 'SECRET_KEY' | 'secret.key';
}

export const rotateSecretsCommand: Command<{ newKey: boolean }, Rotation> = async (context, { newKey }) => {
  const { database, config, inService, progress, signal } = context;
  if (newKey && inService) {
    throw new OperatorError(
      'The service is running, and it would go on using the key that --new-key replaces. Stop the service, run this again, and start it.',
    );
  }
  const cipher = new SecretCipher(newKey ? addSecretKey(config.dataDirectory) : context.secretKeys);
  const countOld = async () => sum([...(await countByKey(database))].filter(([key]) => key !== cipher.newestKey));
  const total = await countOld();
  const { rotated, lost } = await rotateSecrets(database, cipher, {
    onProgress(done) {
      progress(`Encrypted ${done} of ${total} secrets with the key ${cipher.newestKey}.`);
      signal.throwIfAborted();
    },
  });
  for (const { table, id, userId, reason } of lost.slice(0, maxListed)) progress(`${names[table]} ${id} of user ${userId}: ${reason}`);
  if (lost.length > maxListed) progress(`… and ${lost.length - maxListed} more.`);
  if (lost.length > 0) {
    throw new OperatorError(
      `${lost.length} of ${total} secrets cannot be decrypted. Add their keys to SECRET_KEY and run this again, or send their tokens, webhook URLs and headers again.`,
    );
  }
  const left = await countOld();
  if (left > 0)
    throw new OperatorError(`${left} secrets were stored with an older key in the meantime. Restart every process, and run this again.`);
  if (config.secretKeys) return { key: cipher.newestKey, rotated, keys_in: 'SECRET_KEY' };
  removeOldSecretKeys(config.dataDirectory);
  return { key: cipher.newestKey, rotated, keys_in: 'secret.key' };
};

function sum(entries: [string, number][]): number {
  return entries.reduce((total, [, count]) => total + count, 0);
}
