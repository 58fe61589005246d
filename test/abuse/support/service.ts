import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { createKey } from '../../../src/accounts/keys.ts';
import { createUser } from '../../../src/accounts/users.ts';
import { generateKey } from '../../../src/auth/api-key.ts';
import { allScopes } from '../../../src/auth/scopes.ts';
import type { Database } from '../../../src/db/database.ts';
import { openEmbedded } from '../../../src/db/embedded.ts';
import { entities } from '../../../src/entities.ts';
import { ApiClient } from '../../support/api-client.ts';
import { createDatabase, urlOf } from '../../support/database.ts';
import { type RunningProcess, run, waitUntilListening } from '../../support/process.ts';

export interface AbusedUser {
  id: number;
  email: string;
  password: string;
  key: string;
}

export interface AbusedService extends RunningProcess {
  url: string;
  /** Undefined for the embedded database. */
  databaseUrl: string | undefined;
  users: AbusedUser[];
  /** Sends requests with the key of a user. */
  as(user: AbusedUser | undefined): ApiClient;
  /** Stops the service, and runs `work` on its database. */
  stopAndInspect<T>(work: (database: Database) => Promise<T>): Promise<T>;
  remove(): Promise<void>;
}

interface Options {
  users: number;
  /** Deviations from the default settings. */
  settings?: Record<string, string>;
  /** Arguments of the command. */
  args?: string[];
  /** Creates rows for the users before the service starts. */
  seed?(database: Database, users: AbusedUser[]): Promise<void>;
}

/**
 * Runs the service as an operator does, with default settings, on the embedded database or on the server that
 * TEST_DATABASE_URL names. The users exist before it starts.
 */
export async function startAbusedService({ users: count, settings = {}, args = ['serve'], seed }: Options): Promise<AbusedService> {
  const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-abuse-'));
  const isEmbedded = 'snapshot' in inject('source');
  const server = isEmbedded ? undefined : await createDatabase();
  const open = () => (server ? Promise.resolve(server) : openEmbedded(join(folder, 'data'), entities));
  const users: AbusedUser[] = [];

  const database = await open();
  for (let index = 1; index <= count; index++) users.push(await addUser(database, index));
  await seed?.(database, users);
  if (isEmbedded) await database.close();

  const databaseUrl = server && urlOf(server);
  const environment = {
    PORT: '0',
    OWNER_API_KEY: generateKey(),
    ...(databaseUrl && { DATABASE_URL: databaseUrl, SECRET_KEY: Buffer.alloc(32, 1).toString('base64') }),
    ...settings,
  };
  const process = run(folder, environment, args);
  const stop = async () => {
    process.child.kill('SIGINT');
    await process.ended;
  };
  const url = await waitUntilListening(process);
  return {
    ...process,
    url,
    databaseUrl,
    users,
    as: (user) => new ApiClient(url, user && { Authorization: `Bearer ${user.key}` }),
    async stopAndInspect(work) {
      await stop();
      const reopened = await open();
      const result = await work(reopened);
      if (isEmbedded) await reopened.close();
      return result;
    },
    async remove() {
      await stop();
      await server?.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function addUser(database: Database, index: number): Promise<AbusedUser> {
  const [email, password] = [`user${index}@example.com`, `password of user ${index}`];
  const id = await createUser(database, email, password);
  if (id === undefined) throw new Error('The user was not created.');
  const { key } = await database.asUser(id, (em) => createKey(em, { userId: id, name: 'Test', scopes: allScopes }));
  return { id, email, password, key };
}
