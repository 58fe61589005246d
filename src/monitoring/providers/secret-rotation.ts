import { sql } from 'kysely';
import type { SecretCipher } from '../../auth/secret-cipher.ts';
import type { Database } from '../../db/database.ts';
import { prepare, type Statement } from '../../db/statement.ts';
import { tables } from '../../db/tables.ts';
import type { ProviderEntity } from './provider.entity.ts';
import { locationOf } from './provider.settings.ts';

const batchSize = 100;

/** A secret in the settings of a provider. */
interface Secret {
  id: number;
  userId: number;
  field: string;
  encrypted: string;
}

const db = tables<typeof ProviderEntity>();
/** The secrets of all channels: every field that was stored encrypted. */
const secrets = db
  .selectFrom('providers')
  .innerJoinLateral(sql<{ key: string; value: string }>`jsonb_each(settings)`.as('field'), (join) => join.onTrue())
  .where(sql<boolean>`jsonb_typeof(field.value) = 'object' and field.value ->> 'encrypted' is not null`);
const encrypted = sql<string>`field.value ->> 'encrypted'`;

const countSecrets = prepare(() =>
  secrets
    .select([sql<string>`split_part(${encrypted}, '.', 2)`.as('key'), sql<number>`count(*)::int`.as('count')])
    .groupBy(sql`1`)
    .orderBy(sql`1`),
);

/** Selects secrets after this one. `newest` is the start of what the newest key has encrypted. */
const selectOld = prepare((given: Pick<Secret, 'id' | 'field'> & { newest: string }) =>
  secrets
    .select(['providers.id', 'providers.user_id as userId', 'field.key as field', encrypted.as('encrypted')])
    .where(sql<boolean>`(providers.id, field.key) > (${given.id}, ${given.field})`)
    .where(sql<boolean>`not starts_with(${encrypted}, ${given.newest})`)
    .orderBy('providers.id')
    .orderBy('field.key')
    .limit(batchSize),
);

/** Replaces a secret if it is still the one that was read. */
const replaceSecret = prepare((given: Pick<Secret, 'id' | 'field' | 'encrypted'> & { replacement: string }) =>
  db
    .updateTable('providers')
    .set({ settings: sql`jsonb_set(settings, array[${given.field}, 'encrypted'], to_jsonb(${given.replacement}::text))` })
    .where('id', '=', given.id)
    .where(sql<boolean>`settings -> ${given.field}::text ->> 'encrypted' = ${given.encrypted}`)
    .returning('id'),
);

/** A secret that could not be decrypted, and why. */
export interface LostSecret {
  providerId: number;
  userId: number;
  reason: string;
}

interface Options {
  /** Called after each batch with the number of secrets that were encrypted again. */
  onProgress?(done: number): void;
}

/** Returns how many secrets each key encrypts, by the id of the key. */
export async function countByKey(database: Database): Promise<Map<string, number>> {
  const [rows] = await database.engineTransaction((query) => query(countSecrets({})));
  return new Map(rows.map(({ key, count }) => [key, count]));
}

/**
 * Encrypts every secret with the newest key. It can be interrupted, repeated, and run while others write: a secret is replaced
 * only if it is still the one that was read. Returns the secrets that cannot be decrypted; they stay as they are.
 */
export async function rotateSecrets(
  database: Database,
  cipher: SecretCipher,
  { onProgress = () => {} }: Options = {},
): Promise<{ rotated: number; lost: LostSecret[] }> {
  let rotated = 0;
  const lost: LostSecret[] = [];
  for (let last = { id: 0, field: '' }; ; ) {
    const given = { ...last, newest: `v1.${cipher.newestKey}.` };
    // The engine sees the providers of all users, but cannot change them.
    const [batch] = await database.engineTransaction((query) => query(selectOld(given)));
    last = batch.at(-1) ?? last;
    if (batch.length === 0) return { rotated, lost };
    for (const [userId, secretsOfUser] of Map.groupBy(batch, (secret) => secret.userId)) {
      const replacements = secretsOfUser.flatMap((secret) => encryptAgain(secret, cipher, lost));
      rotated += await replace(database, userId, replacements);
    }
    onProgress(rotated);
  }
}

function encryptAgain(secret: Secret, cipher: SecretCipher, lost: LostSecret[]): Statement[] {
  const location = locationOf(secret, secret.field);
  try {
    return [replaceSecret({ ...secret, replacement: cipher.encrypt(cipher.decrypt(secret.encrypted, location), location) })];
  } catch (error) {
    lost.push({ providerId: secret.id, userId: secret.userId, reason: (error as Error).message });
    return [];
  }
}

/** Writes as the user, so that no role needs the right to change the secrets of all users. Returns how many were replaced. */
async function replace(database: Database, userId: number, replacements: Statement[]): Promise<number> {
  const replaced = await database.query(userId)(...replacements);
  return replaced.flat().length;
}
