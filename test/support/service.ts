import { pino } from 'pino';
import { generateKey } from '../../src/access/api-key.ts';
import { storeKey } from '../../src/access/keys.ts';
import { allScopes, type Scope } from '../../src/access/scopes.ts';
import { createApp } from '../../src/app.ts';
import { type Config, readConfig } from '../../src/config.ts';
import type { Database } from '../../src/db/database.ts';
import { listen } from '../../src/http/server.ts';
import { ApiClient } from './api-client.ts';
import { createDatabase } from './database.ts';

export interface TestUser {
  id: number;
  /** Calls the service with a key that holds every scope. */
  api: ApiClient;
  /** Calls it with a key that holds just these. */
  withScopes(...scopes: Scope[]): Promise<ApiClient>;
}

export interface TestService {
  url: string;
  database: Database;
  /** Calls the service without any key. */
  stranger: ApiClient;
  createUser(): Promise<TestUser>;
  stop(): Promise<void>;
}

/** The whole service on a port of its own with a database of its own, into which a test may plant a fault. */
export async function startService(settings: Partial<Config> = {}, plant = (database: Database) => database): Promise<TestService> {
  const database = plant(await createDatabase());
  const server = await listen({ host: '127.0.0.1', port: 0 });
  const config = { ...readConfig({ RATE_LIMIT_PER_MINUTE: '100000' }), ...settings };
  const app = await createApp({ config, database, publicUrl: server.url, log: pino({ level: 'silent' }) });
  server.answerWith(app.callback());
  let users = 0;

  async function createUser(): Promise<TestUser> {
    const email = `user${++users}@example.com`;
    const [made] = await database.atTheDoor((em) => em.execute<{ id: number }[]>('select door_create_user(?, null) as id', [email]));
    if (!made) throw new Error('no user was made');
    const { id } = made;
    const withScopes = async (...scopes: Scope[]) => {
      const key = generateKey();
      await database.asUser(id, (em) => storeKey(em, id, { key, name: 'Test', scopes }));
      return new ApiClient(server.url, { Authorization: `Bearer ${key}` });
    };
    return { id, api: await withScopes(...allScopes), withScopes };
  }

  return {
    url: server.url,
    database,
    stranger: new ApiClient(server.url),
    createUser,
    async stop() {
      await server.close();
      await database.close();
    },
  };
}
