import { type Logger, pino } from 'pino';
import { createKey } from '../../src/accounts/keys.ts';
import { createUser as createAccount } from '../../src/accounts/users.ts';
import { createApp } from '../../src/app.ts';
import { allScopes, type Scope } from '../../src/auth/scopes.ts';
import { type Config, readConfig } from '../../src/config/config.ts';
import type { Database } from '../../src/db/database.ts';
import { Contract } from '../../src/http/contract.ts';
import { listen } from '../../src/http/server.ts';
import { shareFairly } from '../../src/limits/fair-database.ts';
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
  /** Calls the service with a key that has every scope. */
  api: ApiClient;
  /** Returns a client whose key has only these scopes. */
  withScopes(...scopes: Scope[]): Promise<ApiClient>;
}

export interface TestService {
  url: string;
  database: Database;
  /** Calls the service without credentials. */
  anonymous: ApiClient;
  /** Creates a user with a key. A user with a password can also sign in. */
  createUser(password?: string): Promise<TestUser>;
  stop(): Promise<void>;
}

interface Options {
  /** Replaces the service's own database: one shared with another process, or one with an injected fault. */
  database?: Database;
  limiters?: Limiters;
  /** The public URL that the service is configured with, if it differs from the URL it listens on. */
  publicUrl?: string;
  net?: Net;
  /** Starts the engine, which checks monitors and sends alerts. */
  engine?: boolean;
  log?: Logger;
  tracer?: Tracer;
}

// The services of a worker share their contracts, because compiling the schemas takes longer than everything else at a start.
const loadContract = Contract.load;
const contracts = new Map<object, Promise<Contract>>();
Contract.load = (document, basePath) => {
  const contract = contracts.get(document) ?? loadContract(document, basePath);
  contracts.set(document, contract);
  return contract;
};

/** The counter is shared by all services, because services can share a database and addresses must be unique. */
let userCount = 0;

/** Starts the whole service on a free port with its own database. */
export async function startService(settings: Partial<Config> = {}, options: Options = {}): Promise<TestService> {
  const database = options.database ?? (await createDatabase());
  const shared = shareFairly(database);
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
    database: shared,
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
    ? await startEngine({ config, database: shared, secretKeys, log, metrics, tracer, ...(options.net && { net: options.net }) })
    : undefined;

  async function createUser(password?: string): Promise<TestUser> {
    const email = `user${++userCount}@example.com`;
    const id = await createAccount(database, email, password);
    if (id === undefined) throw new Error('The user was not created.');
    const withScopes = async (...scopes: Scope[]) => {
      const { key } = await database.asUser(id, (em) => createKey(em, { userId: id, name: 'Test', scopes }));
      return new ApiClient(url, { Authorization: `Bearer ${key}` });
    };
    return { id, email, api: await withScopes(...allScopes), withScopes };
  }

  return {
    url,
    database,
    anonymous: new ApiClient(url),
    createUser,
    async stop() {
      await proxy?.close();
      await server.close();
      await engine?.stop();
      if (!options.database) await database.close();
    },
  };
}
