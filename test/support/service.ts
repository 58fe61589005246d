import { type Logger, pino } from 'pino';
import { createKey } from '../../src/accounts/keys.ts';
import { createUser as createAccount } from '../../src/accounts/users.ts';
import { createApp } from '../../src/app.ts';
import { allScopes, type Scope } from '../../src/auth/scopes.ts';
import { type Config, readConfig } from '../../src/config/config.ts';
import type { Database } from '../../src/db/database.ts';
import { listen } from '../../src/http/server.ts';
import { type Limiters, memoryLimiters } from '../../src/limits/limiters.ts';
import { startEngine } from '../../src/monitoring/engine/start-engine.ts';
import type { Net } from '../../src/net/resolve.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import type { Tracer } from '../../src/telemetry/tracing.ts';
import { ApiClient } from './api-client.ts';
import { createDatabase } from './database.ts';
import { startPrismProxy } from './prism-proxy.ts';

export interface TestUser {
  id: number;
  email: string;
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
  /** With a password the user can sign in, too. */
  createUser(password?: string): Promise<TestUser>;
  stop(): Promise<void>;
}

interface Options {
  /** Instead of one of its own: shared with another process, or with a fault planted in it. */
  database?: Database;
  limiters?: Limiters;
  /** What the service is told to be reached at, where that differs from where it listens. */
  publicUrl?: string;
  net?: Net;
  /** Whether monitors are checked and alerts are sent. */
  engine?: boolean;
  log?: Logger;
  tracer?: Tracer;
}

/** Counted here, because services may share a database. */
let users = 0;

/** The whole service on a port of its own with a database of its own. */
export async function startService(settings: Partial<Config> = {}, options: Options = {}): Promise<TestService> {
  const database = options.database ?? (await createDatabase());
  const limiters = options.limiters ?? memoryLimiters();
  const server = await listen({ host: '127.0.0.1', port: 0 });
  const proxy = process.env.TEST_THROUGH_PROXY ? await startPrismProxy(server.url) : undefined;
  const { url } = proxy ?? server;
  const config = { ...readConfig({ RATE_LIMIT_PER_MINUTE: '100000' }), ...settings };
  const secretKeys = [Buffer.alloc(32, 1)];
  const { log = pino({ level: 'silent' }), tracer } = options;
  const metrics = createMetrics();
  const app = await createApp({
    config,
    database,
    limiters,
    secretKeys,
    publicUrl: options.publicUrl ?? url,
    ...(options.net && { net: options.net }),
    log,
    metrics,
    tracer,
  });
  server.setHandler(app.callback());
  const engine = options.engine
    ? startEngine({ config, database, secretKeys, log, metrics, tracer, ...(options.net && { net: options.net }) })
    : undefined;

  async function createUser(password?: string): Promise<TestUser> {
    const email = `user${++users}@example.com`;
    const id = await createAccount(database, email, password);
    if (id === undefined) throw new Error('no user was made');
    const withScopes = async (...scopes: Scope[]) => {
      const { key } = await database.asUser(id, (em) => createKey(em, { userId: id, name: 'Test', scopes }));
      return new ApiClient(url, { Authorization: `Bearer ${key}` });
    };
    return { id, email, api: await withScopes(...allScopes), withScopes };
  }

  return {
    url,
    database,
    stranger: new ApiClient(url),
    createUser,
    async stop() {
      await proxy?.close();
      await server.close();
      await engine?.stop();
      if (!options.database) await database.close();
    },
  };
}
