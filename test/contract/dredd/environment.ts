import type { Database } from '../../../src/db/database.ts';
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
  receivers: Awaited<ReturnType<typeof startReceivers>>;
  stop(): Promise<void>;
}

export async function startEnvironment(database: Database): Promise<TestEnvironment> {
  const receivers = await startReceivers();
  const { net, delivery } = receivers;
  const main = await startService({ delivery, signupOpen: true }, { database, net });
  const rateLimited = await startService({ delivery, signupOpen: true, rateLimitPerMinute: 1 }, { database, net });
  const restricted = await startService({ maxWebsites: 0, maxMonitors: 0, maxProviders: 0 }, { database, net });
  return {
    main,
    rateLimited,
    restricted,
    receivers,
    async stop() {
      await Promise.all([main.stop(), rateLimited.stop(), restricted.stop()]);
      await receivers.close();
      await database.close();
    },
  };
}
