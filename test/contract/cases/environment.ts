import { unavailable } from '../../../src/db/availability.ts';
import type { Database } from '../../../src/db/database.ts';
import { shareFairly } from '../../../src/limits/fair-database.ts';
import { startReceivers } from '../../support/receivers.ts';
import { startService, type TestService } from '../../support/service.ts';

/** The services that the cases need, all on one database, and the servers that receive their messages. */
export interface TestEnvironment {
  /** Has every feature configured and enabled. */
  main: TestService;
  /** Allows one request per minute. */
  rateLimited: TestService;
  /** Has quotas of zero, closed sign-up and no configured delivery. */
  restricted: TestService;
  /** Every statement fails with an error that the service does not expect. */
  broken: TestService;
  /** Every statement fails because there is no connection to the database. */
  disconnected: TestService;
  receivers: Awaited<ReturnType<typeof startReceivers>>;
  stop(): Promise<void>;
}

export async function startEnvironment(database: Database): Promise<TestEnvironment> {
  const receivers = await startReceivers();
  const { net, delivery } = receivers;
  const main = await startService({ delivery, signupOpen: true }, { database, net });
  const rateLimited = await startService({ delivery, signupOpen: true, rateLimitPerMinute: 1 }, { database, net });
  const restricted = await startService({ maxWebsites: 0, maxMonitors: 0, maxProviders: 0 }, { database, net });
  const broken = await startService(
    { signupOpen: true },
    { database: failing(database, new Error('The test makes every statement fail.')) },
  );
  const disconnected = await startService({ signupOpen: true }, { database: failing(database, unavailable()) });
  return {
    main,
    rateLimited,
    restricted,
    broken,
    disconnected,
    receivers,
    async stop() {
      await Promise.all([main, rateLimited, restricted, broken, disconnected].map((service) => service.stop()));
      await receivers.close();
      await database.close();
    },
  };
}

/** The database with a fault: whatever a request does with it fails with this error. */
function failing(database: Database, error: Error): Database {
  const fail = () => Promise.reject(error);
  return { ...shareFairly(database), asUser: fail, asAuthenticator: fail, engineTransaction: fail, query: () => fail };
}
