import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createUser } from '../../src/accounts/users.ts';
import { SecretCipher } from '../../src/auth/secret-cipher.ts';
import { openEmbedded } from '../../src/db/embedded.ts';
import { readSecretKeys } from '../../src/db/secret-key-file.ts';
import { entities } from '../../src/entities.ts';
import { runCommand } from '../cli/run-command.ts';

let folder: string;
let data: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sitekeeper-secrets-'));
  data = join(folder, 'data');
});
afterAll(() => rmSync(folder, { recursive: true }));

const secrets = (...args: string[]) => runCommand(folder, ['secrets', ...args]);

test('rejects --new-key in one line if SECRET_KEY is set', async () => {
  const settings = { SECRET_KEY: Buffer.alloc(32, 1).toString('base64') };
  expect(await runCommand(folder, ['secrets', 'rotate', '--new-key'], { settings })).toEqual({
    code: 1,
    printed: 'error: --new-key: SECRET_KEY is set. Put the new key before the old one: SECRET_KEY=new,old\n',
  });
});

// One test, because each command starts the embedded database again.
test('with the key in DATA_DIR, one command replaces the key and re-encrypts every secret', async () => {
  const database = await openEmbedded(data, entities);
  const [oldKey] = readSecretKeys(data);
  const oldCipher = new SecretCipher([oldKey as Buffer]);
  const userId = (await createUser(database, 'ada@example.com', undefined)) ?? 0;
  const location = { userId, table: 'providers', row: 1, field: 'token' };
  const insert = `insert into providers (id, user_id, provider_type, settings) values (1, ?, 'telegram', ?::jsonb)`;
  const settings = { chat_id: '1', token: { encrypted: oldCipher.encrypt('token', location), mask: '****oken' } };
  await database.asUser(userId, (em) => em.execute(insert, [userId, JSON.stringify(settings)], 'run'));

  await database.close();

  expect(await secrets('status')).toEqual({ code: 0, printed: `${oldCipher.newestKey}: 1 secret, the newest key\n` });
  const rotated = await secrets('rotate', '--new-key');
  const [newKey, ...others] = readSecretKeys(data);
  const cipher = new SecretCipher([newKey as Buffer]);
  expect(rotated).toEqual({
    code: 0,
    printed: `Encrypted 1 of 1 secrets with the key ${cipher.newestKey}.\nEvery secret uses the key ${cipher.newestKey}. secret.key contains only this key.\n`,
  });
  expect([others, newKey?.equals(oldKey as Buffer), statSync(join(data, 'secret.key')).mode & 0o777]).toEqual([[], false, 0o600]);
  expect(readFileSync(join(data, 'secret.key'), 'utf8')).toMatch(/^[A-Za-z0-9+/]{43}=\n$/);

  const reopened = await openEmbedded(data, entities);
  const [row] = await reopened.asEngine((em) =>
    em.execute<{ secret: string }[]>(`select settings -> 'token' ->> 'encrypted' as secret from providers`),
  );
  await reopened.close();
  expect(cipher.decrypt(row?.secret ?? '', location)).toBe('token');

  const otherKey = { SECRET_KEY: Buffer.alloc(32, 1).toString('base64') };
  expect(await runCommand(folder, ['secrets', 'rotate'], { settings: otherKey })).toEqual({
    code: 1,
    printed: expect.stringMatching(
      /^(?=[\s\S]*^Provider 1 of user \d+: The secret was encrypted with the key \w+, which is not in SECRET_KEY\.$)[\s\S]*^1 of 1 secrets cannot be decrypted\. [^\n]*\n$/m,
    ),
  });
}, 120_000);
