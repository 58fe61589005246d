import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createUser } from '../../src/accounts/users.ts';
import { SecretCipher } from '../../src/auth/secret-cipher.ts';
import type { Database } from '../../src/db/database.ts';
import { countByKey, rotateSecrets } from '../../src/monitoring/secret-rotation.ts';
import { createDatabase } from '../support/database.ts';
import { sql } from '../support/statement.ts';

const keys = { older: randomBytes(32), newer: randomBytes(32), lost: randomBytes(32) };
const older = new SecretCipher([keys.older]);
const newer = new SecretCipher([keys.newer]);
const both = new SecretCipher([keys.newer, keys.older]);
const lost = new SecretCipher([keys.lost]);

let database: Database;
let users: number[];

beforeAll(async () => {
  database = await createDatabase();
  users = [];
  for (const name of ['ada', 'grace']) users.push((await createUser(database, `${name}@example.com`, undefined)) ?? 0);
});
afterEach(async () => {
  for (const user of users)
    for (const table of ['providers', 'monitors']) await database.asUser(user, (em) => em.execute(`delete from ${table}`, [], 'run'));
});
afterAll(() => database.close());

let nextId = 0;

/** Stores a Telegram or Slack provider, encrypted by this cipher. Returns its id. */
async function store(userId: number, cipher: SecretCipher, type: 'telegram' | 'slack' = 'telegram'): Promise<number> {
  const id = ++nextId;
  const field = type === 'telegram' ? 'token' : 'webhook_url';
  const encrypted = cipher.encrypt(`secret ${id}`, { userId, table: 'providers', row: id, field });
  const settings = { chat_id: '1', [field]: { encrypted, mask: '****' } };
  const sql = 'insert into providers (id, user_id, provider_type, settings) values (?, ?, ?, ?::jsonb)';
  await database.asUser(userId, (em) => em.execute(sql, [id, userId, type, JSON.stringify(settings)], 'run'));
  return id;
}

interface Stored {
  id: number;
  user_id: number;
  field: string;
  encrypted: string;
  version: number;
}

const readAll = () =>
  database.asEngine((em) =>
    em.execute<Stored[]>(
      `select id, user_id, key as field, value ->> 'encrypted' as encrypted, version
         from providers, jsonb_each(settings) where jsonb_typeof(value) = 'object' order by id`,
    ),
  );

function decrypt({ id, user_id, field, encrypted }: Stored, cipher: SecretCipher): string {
  return cipher.decrypt(encrypted, { userId: user_id, table: 'providers', row: id, field });
}

test('only settings can contain a secret: a new column must be added to the rotation', async () => {
  const columns = await database.asEngine((em) =>
    em.execute<{ name: string }[]>(
      `select c.relname || '.' || attname as name from pg_attribute join pg_class c on c.oid = attrelid
        where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
          and (attname like '%encrypted%' or atttypid = 'jsonb'::regtype) order by 1`,
    ),
  );
  // The payload of an alert is what webhooks get: the API's view of a monitor, with masks.
  expect(columns.map(({ name }) => name)).toEqual(['alerts.payload', 'monitors.settings', 'providers.settings']);
});

test('encrypts the secrets of all users with the newest key, in batches, and reports progress', async () => {
  for (let n = 0; n < 130; n++) await store(users[n % 2] ?? 0, n % 3 ? older : newer, n % 5 ? 'telegram' : 'slack');
  const before = await countByKey(database);
  expect(Object.fromEntries(before)).toEqual({ [older.newestKey]: 86, [newer.newestKey]: 44 });
  const progress: number[] = [];
  expect(await rotateSecrets(database, both, { onProgress: (done) => progress.push(done) })).toEqual({ rotated: 86, lost: [] });
  expect(progress).toEqual([86]);
  expect(await countByKey(database)).toEqual(new Map([[newer.newestKey, 130]]));
  // Only the newest key is needed, each secret is still bound to its row, and the version of the provider is the same.
  for (const row of await readAll()) expect([decrypt(row, newer), row.version]).toEqual([`secret ${row.id}`, 1]);
  expect(await rotateSecrets(database, both)).toEqual({ rotated: 0, lost: [] });
});

test('encrypts the tokens of heartbeat monitors as well', async () => {
  const [userId = 0] = users;
  const location = { userId, table: 'monitors', row: 2, field: 'token' };
  const settings = { token: { hash: 'a'.repeat(64), encrypted: older.encrypt('the token', location) } };
  const insert = `insert into monitors (id, user_id, friendly_name, type, grace_seconds, settings) values (2, ?, 'M', 'heartbeat', 60, ?::jsonb)`;
  await database.asUser(userId, (em) => em.execute(insert, [userId, JSON.stringify(settings)], 'run'));
  expect(await countByKey(database)).toEqual(new Map([[older.newestKey, 1]]));
  expect(await rotateSecrets(database, both)).toEqual({ rotated: 1, lost: [] });
  const [row] = await database.asEngine((em) =>
    em.execute<{ encrypted: string }[]>(`select settings -> 'token' ->> 'encrypted' as encrypted from monitors`),
  );
  expect(newer.decrypt(row?.encrypted ?? '', location)).toBe('the token');
});

test('encrypts the secret headers of monitors as well, and leaves the others alone', async () => {
  const [userId = 0] = users;
  const location = (name: string) => ({ userId, table: 'monitors', row: 1, field: `headers.${name}` });
  const secret = (name: string, value: string) => ({
    name,
    value: { encrypted: older.encrypt(value, location(name.toLowerCase())), mask: '****' },
  });
  const headers = [secret('Authorization', 'one'), { name: 'Accept', value: 'text/html' }, secret('X-Key', 'two')];
  await database.asUser(userId, (em) =>
    em.execute(`insert into monitors (id, user_id, friendly_name, url, settings) values (1, ?, 'Shop', 'https://shop.example', ?::jsonb)`, [
      userId,
      JSON.stringify({ method: 'POST', headers }),
    ]),
  );
  expect(await countByKey(database)).toEqual(new Map([[older.newestKey, 2]]));
  expect(await rotateSecrets(database, both)).toEqual({ rotated: 2, lost: [] });
  expect(await countByKey(database)).toEqual(new Map([[newer.newestKey, 2]]));
  const [stored] = await database.asEngine((em) =>
    em.execute<{ settings: { method: string; headers: typeof headers }; version: number }[]>('select settings, version from monitors'),
  );
  const plain = stored?.settings.headers.map(({ name, value }) =>
    typeof value === 'string' ? value : newer.decrypt(value.encrypted, location(name.toLowerCase())),
  );
  expect([stored?.settings.method, stored?.version, plain]).toEqual(['POST', 1, ['one', 'text/html', 'two']]);
});

test('encrypts all secret headers of a monitor of which only some fit into a batch', async () => {
  const [userId = 0] = users;
  // A batch has 100 secrets, so the 34th monitor has one in the first and two in the second.
  for (let row = 1; row <= 34; row++) {
    const headers = ['x-a', 'x-b', 'x-c'].map((name) => ({
      name,
      value: { encrypted: older.encrypt('secret', { userId, table: 'monitors', row, field: `headers.${name}` }), mask: '****' },
    }));
    const insert = `insert into monitors (id, user_id, friendly_name, url, settings) values (?, ?, 'M', 'https://shop.example', ?::jsonb)`;
    await database.asUser(userId, (em) => em.execute(insert, [row, userId, JSON.stringify({ headers })], 'run'));
  }
  expect(await rotateSecrets(database, both)).toEqual({ rotated: 102, lost: [] });
  expect(await countByKey(database)).toEqual(new Map([[newer.newestKey, 102]]));
});

test('continues where an interrupted run has stopped', async () => {
  for (let n = 0; n < 250; n++) await store(users[0] ?? 0, older);
  const interrupted = rotateSecrets(database, both, {
    onProgress() {
      throw new Error('interrupted');
    },
  });
  await expect(interrupted).rejects.toThrow('interrupted');
  expect((await countByKey(database)).get(older.newestKey)).toBe(150);
  expect((await rotateSecrets(database, both)).rotated).toBe(150);
});

test('reports what it cannot decrypt, leaves it unchanged, and continues', async () => {
  const unknown = await store(users[0] ?? 0, lost);
  const moved = await store(users[1] ?? 0, older);
  const id = await store(users[1] ?? 0, older);
  // A ciphertext that was copied from another row is not bound to this one.
  await database.asUser(users[1] ?? 0, (em) =>
    em.execute('update providers set settings = (select settings from providers where id = ?) where id = ?', [id, moved], 'run'),
  );
  const before = await readAll();
  const result = await rotateSecrets(database, both);
  expect(result.rotated).toBe(1);
  expect(result.lost).toEqual([
    {
      table: 'providers',
      id: unknown,
      userId: users[0],
      reason: `The secret was encrypted with the key ${lost.newestKey}, which is not in SECRET_KEY.`,
    },
    { table: 'providers', id: moved, userId: users[1], reason: expect.stringMatching(/authenticate/) },
  ]);
  const after = await readAll();
  for (const provider of [unknown, moved]) {
    expect(after.find((row) => row.id === provider)).toEqual(before.find((row) => row.id === provider));
  }
  // The second part names the key.
  expect(after.find((row) => row.id === id)?.encrypted.split('.')[1]).toBe(newer.newestKey);
});

test('does not overwrite a secret that changes after it was read', async () => {
  const userId = users[0] ?? 0;
  const id = await store(userId, older);
  const replacement = both.encrypt('replaced', { userId, table: 'providers', row: id, field: 'token' });
  const { query } = database;
  database.query = (user) => {
    database.query = query;
    const replace = sql(`update providers set settings = jsonb_set(settings, '{token,encrypted}', to_jsonb($1::text)) where id = $2`, [
      replacement,
      id,
    ]);
    return async (...statements) => {
      await query.call(database, userId)(replace);
      return query.call(database, user)(...statements);
    };
  };
  expect(await rotateSecrets(database, both)).toEqual({ rotated: 0, lost: [] });
  expect((await readAll()).find((row) => row.id === id)?.encrypted).toBe(replacement);
});
