import type { operations } from '../../../generated/types/monitoring.ts';
import type { SecretCipher } from '../../auth/secret-cipher.ts';
import { prepareRead, writeIf } from '../../db/rows.ts';
import type { UserDatabase } from '../../db/user-database.ts';
import { ProblemError } from '../../errors.ts';
import type { Handlers } from '../../http/operations.ts';
import type { ProviderType } from '../channels/channel.ts';
import { ProviderEntity } from './provider.entity.ts';
import { newSigningSecret, replaceSecret, rotateSecret } from './signing-secret.ts';

export interface RotationDeps {
  cipher: SecretCipher;
  /** The time on the clock of the database. */
  now(): number;
}

const readProvider = prepareRead(ProviderEntity);

export function rotateSecretHandlers({ cipher, now }: RotationDeps): Handlers<Pick<operations, 'rotateProviderSecret'>, UserDatabase> {
  return {
    async rotateProviderSecret({ path: { id } }, { db }) {
      const secret = newSigningSecret();
      let previousExpiresAt: string | null = null;
      await writeIf(db, async () => {
        const provider = await readProvider(db, id);
        const rotated = rotateSecret(provider, secret, cipher, now());
        if (!rotated) throw unsigned(provider.providerType);
        previousExpiresAt = rotated.previousExpiresAt;
        // If another rotation came first, its secret is then the previous one.
        return [replaceSecret({ id, replaced: rotated.replaced, changes: JSON.stringify(rotated.changes) })];
      });
      const data = { id, signing_secret: secret, previous_expires_at: previousExpiresAt };
      return { body: { data }, containsSecret: true };
    },
  };
}

function unsigned(type: ProviderType): ProblemError {
  return new ProblemError('no_signing_secret', `A provider of type ${type} has no signing secret. Only messages to webhooks are signed.`);
}
