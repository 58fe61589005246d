import type { Command } from 'commander';
import { readConfig } from '../config/config.ts';
import { OperatorError, UsageError } from '../errors.ts';

/** How many secrets that cannot be decrypted are listed. */
const maxListed = 20;

export function addSecretsCommands(program: Command) {
  const secrets = program.command('secrets').description('manage the encryption of stored secrets');
  secrets.command('status').description('list how many secrets each key encrypts').action(printStatus);
  secrets
    .command('rotate')
    .description('encrypt every stored secret with the newest key; after 24 hours, older keys can be removed')
    .option('--new-key', 'first add a new key to secret.key in DATA_DIR; then remove the older ones')
    .action(rotate);
}

async function printStatus(): Promise<void> {
  const [{ SecretCipher }, { countByKey }, { withDatabase }] = await load();
  await withDatabase(async (database, secretKeys) => {
    const cipher = new SecretCipher(secretKeys);
    const counts = await countByKey(database);
    if (!counts.has(cipher.newestKey)) counts.set(cipher.newestKey, 0);
    for (const [key, count] of counts) {
      const state = key === cipher.newestKey ? 'the newest key' : cipher.hasKey(key) ? 'an older key' : 'an unknown key';
      console.log(`${key}: ${count} ${count === 1 ? 'secret' : 'secrets'}, ${state}`);
    }
  });
}

async function rotate({ newKey }: { newKey?: true }): Promise<void> {
  const { secretKeys: configured, dataDirectory } = readConfig();
  if (newKey && configured) throw new UsageError('--new-key: SECRET_KEY is set. Put the new key before the old one: SECRET_KEY=new,old');
  const [{ SecretCipher }, { countByKey, rotateSecrets }, { withDatabase }] = await load();
  const { addSecretKey, removeOldSecretKeys } = await import('../db/secret-key-file.ts');
  await withDatabase(async (database, secretKeys) => {
    const cipher = new SecretCipher(newKey ? addSecretKey(dataDirectory) : secretKeys);
    const countOld = async () => sum([...(await countByKey(database))].filter(([key]) => key !== cipher.newestKey));
    const total = await countOld();
    const { rotated, lost } = await rotateSecrets(database, cipher, {
      onProgress: (done) => console.log(`Encrypted ${done} of ${total} secrets with the key ${cipher.newestKey}.`),
    });
    for (const { providerId, userId, reason } of lost.slice(0, maxListed))
      console.error(`Provider ${providerId} of user ${userId}: ${reason}`);
    if (lost.length > maxListed) console.error(`… and ${lost.length - maxListed} more.`);
    if (lost.length > 0) {
      throw new OperatorError(
        `${lost.length} of ${total} secrets cannot be decrypted. Add their keys to SECRET_KEY and run this again, or send their tokens and webhook URLs again.`,
      );
    }
    const left = await countOld();
    if (left > 0)
      throw new OperatorError(`${left} secrets were stored with an older key in the meantime. Restart every process, and run this again.`);
    if (!configured) removeOldSecretKeys(dataDirectory);
    console.log(
      `${rotated === 0 ? 'Nothing to do: every' : 'Every'} secret uses the key ${cipher.newestKey}. ${configured ? 'Older keys can be removed from SECRET_KEY after 24 hours.' : 'secret.key contains only this key.'}`,
    );
  });
}

/** Loads what only these commands need. */
function load() {
  return Promise.all([
    import('../auth/secret-cipher.ts'),
    import('../monitoring/providers/secret-rotation.ts'),
    import('./with-database.ts'),
  ]);
}

function sum(entries: [string, number][]): number {
  return entries.reduce((total, [, count]) => total + count, 0);
}
