import { keyOf, type SecretCipher } from '../../auth/secret-cipher.ts';
import type { Database } from '../../db/database.ts';
import { locationOf } from './provider.fields.ts';

/** Every column that contains a secret. Its ciphertext is bound to the name without the suffix. */
const secretColumns = ['token_encrypted', 'webhook_url_encrypted'] as const;
const batchSize = 100;

type Row = { id: number; userId: number } & Record<(typeof secretColumns)[number], string | null>;

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
  const values = secretColumns.map((column) => `(${column})`).join(', ');
  const rows = await database.asEngine((em) =>
    em.execute<{ key: string; count: number }[]>(
      `select split_part(secret, '.', 2) as key, count(*)::int as count
         from providers cross join lateral (values ${values}) as secrets (secret) where secret is not null group by 1 order by 1`,
    ),
  );
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
  for (let after = 0; ; ) {
    const batch = await readBatch(database, cipher, after);
    if (batch.length === 0) return { rotated, lost };
    after = Math.max(...batch.map(({ id }) => id));
    for (const [userId, rows] of Map.groupBy(batch, (row) => row.userId)) {
      const changes = rows.flatMap((row) => encryptAgain(row, cipher, lost));
      rotated += await replaceSecrets(database, userId, changes);
    }
    onProgress(rotated);
  }
}

/** The engine sees the providers of all users, but cannot change them. */
function readBatch(database: Database, cipher: SecretCipher, after: number): Promise<Row[]> {
  const isOld = secretColumns.map((column) => `${column} not like ?`).join(' or ');
  const newest = secretColumns.map(() => `v1.${cipher.newestKey}.%`);
  return database.asEngine((em) =>
    em.execute<Row[]>(
      `select id, user_id as "userId", ${secretColumns.join(', ')} from providers
        where id > ? and (${isOld}) order by id limit ?`,
      [after, ...newest, batchSize],
    ),
  );
}

interface Change {
  id: number;
  column: string;
  from: string;
  to: string;
}

function encryptAgain(row: Row, cipher: SecretCipher, lost: LostSecret[]): Change[] {
  return secretColumns.flatMap((column) => {
    const from = row[column];
    if (from === null || keyOf(from) === cipher.newestKey) return [];
    const location = locationOf(row, column.replace(/_encrypted$/, ''));
    try {
      return [{ id: row.id, column, from, to: cipher.encrypt(cipher.decrypt(from, location), location) }];
    } catch (error) {
      lost.push({ providerId: row.id, userId: row.userId, reason: (error as Error).message });
      return [];
    }
  });
}

/** Writes as the user, so that no role needs the right to change the secrets of all users. Returns how many were replaced. */
function replaceSecrets(database: Database, userId: number, changes: Change[]): Promise<number> {
  return database.asUser(userId, async (em) => {
    let replaced = 0;
    for (const { id, column, from, to } of changes) {
      const rows = await em.execute<object[]>(`update providers set ${column} = ? where id = ? and ${column} = ? returning id`, [
        to,
        id,
        from,
      ]);
      replaced += rows.length;
    }
    return replaced;
  });
}
