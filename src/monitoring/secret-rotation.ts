import { type RawBuilder, sql } from 'kysely';
import type { SecretCipher } from '../auth/secret-cipher.ts';
import type { Database } from '../db/database.ts';
import { prepare, type Statement } from '../db/statement.ts';

const batchSize = 100;

/** A secret in the settings of a provider or a monitor. */
interface Secret {
  id: number;
  userId: number;
  field: string;
  encrypted: string;
}

/** A place where secrets are stored: `{ "encrypted": …, "mask": … }`. */
interface Source {
  table: 'providers' | 'monitors';
  /** A list of the secrets in `settings`, as s (field, encrypted). */
  secrets: RawBuilder<unknown>;
}

const fieldsOfSettings = sql`(select key, value ->> 'encrypted' from jsonb_each(settings) where jsonb_typeof(value) = 'object')`;
const headers = sql`(select 'headers.' || lower(header ->> 'name'), header -> 'value' ->> 'encrypted'
  from jsonb_array_elements(settings -> 'headers') as header where jsonb_typeof(header -> 'value') = 'object')`;

const sources: Source[] = [
  { table: 'providers', secrets: fieldsOfSettings },
  { table: 'monitors', secrets: headers },
  { table: 'monitors', secrets: fieldsOfSettings },
];

const from = ({ table, secrets }: Source) =>
  sql`from ${sql.table(table)} cross join lateral ${secrets} as s (field, encrypted) where s.encrypted is not null`;

/** The statements for one source. */
const prepareSource = (source: Source) => ({
  table: source.table,
  count: prepare(
    () =>
      sql<{ key: string; count: number }>`select split_part(s.encrypted, '.', 2) as key, count(*)::int as count ${from(source)} group by 1`,
  ),
  /** Selects secrets after this one. `newest` is the start of what the newest key has encrypted. */
  selectOld: prepare(
    (given: Pick<Secret, 'id' | 'field'> & { newest: string }) =>
      sql<Secret>`select id, user_id as "userId", s.field, s.encrypted ${from(source)}
        and (id, s.field) > (${given.id}::bigint, ${given.field}::text) and not starts_with(s.encrypted, ${given.newest})
        order by id, s.field limit ${sql.lit(batchSize)}`,
  ),
  /** Replaces a secret if it is still the one that was read. A ciphertext is unique, and occurs nowhere else. */
  replace: prepare(
    (given: Pick<Secret, 'id' | 'encrypted'> & { replacement: string }) =>
      sql<{ id: number }>`update ${sql.table(source.table)}
        set settings = replace(settings::text, ${given.encrypted}::text, ${given.replacement}::text)::jsonb
        where id = ${given.id} and position(${given.encrypted}::text in settings::text) > 0 returning id`,
  ),
});

const prepared = sources.map(prepareSource);
type PreparedSource = (typeof prepared)[number];

/** A secret that could not be decrypted, and why. */
export interface LostSecret {
  table: Source['table'];
  id: number;
  userId: number;
  reason: string;
}

interface Options {
  /** Called after each batch with the number of secrets that were encrypted again. */
  onProgress?(done: number): void;
}

/** Returns how many secrets each key encrypts, by the id of the key. */
export async function countByKey(database: Database): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const sourceRows = await database.engineTransaction((query) => query(...prepared.map(({ count }) => count({}))));
  for (const { key, count } of sourceRows.flat()) counts.set(key, (counts.get(key) ?? 0) + count);
  return new Map([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
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
  for (const source of prepared) {
    for await (const batch of readOld(database, source, cipher)) {
      for (const [userId, secrets] of Map.groupBy(batch, (secret) => secret.userId)) {
        const replacements = secrets.flatMap((secret) => encryptAgain(secret, source, cipher, lost));
        rotated += await replace(database, userId, replacements);
      }
      onProgress(rotated);
    }
  }
  return { rotated, lost };
}

/** Reads the secrets that an older key has encrypted. The engine sees those of all users, but cannot change them. */
async function* readOld(database: Database, { selectOld }: PreparedSource, cipher: SecretCipher): AsyncGenerator<Secret[]> {
  const newest = `v1.${cipher.newestKey}.`;
  for (let last = { id: 0, field: '' }; ; ) {
    const given = { ...last, newest };
    const [batch] = await database.engineTransaction((query) => query(selectOld(given)));
    last = batch.at(-1) ?? last;
    if (batch.length === 0) return;
    yield batch;
  }
}

function encryptAgain(
  { id, userId, field, encrypted }: Secret,
  source: PreparedSource,
  cipher: SecretCipher,
  lost: LostSecret[],
): Statement[] {
  const location = { userId, table: source.table, row: id, field };
  try {
    return [source.replace({ id, encrypted, replacement: cipher.encrypt(cipher.decrypt(encrypted, location), location) })];
  } catch (error) {
    lost.push({ table: source.table, id, userId, reason: (error as Error).message });
    return [];
  }
}

/** Writes as the user, so that no role needs the right to change the secrets of all users. Returns how many were replaced. */
async function replace(database: Database, userId: number, replacements: Statement[]): Promise<number> {
  const replaced = await database.query(userId)(...replacements);
  return replaced.flat().length;
}
