import type { Database } from '../../../src/db/database.ts';
import { startReceivers } from '../../support/receivers.ts';
import { startService, type TestService } from '../../support/service.ts';

/** The services that the cases need, all on one database, and everybody that messages go to. */
export interface World {
  /** Everything is set up and allowed. */
  main: TestService;
  /** One request a minute. */
  strict: TestService;
  /** Nothing may be created, nobody may sign up, no message can leave. */
  bare: TestService;
  others: Awaited<ReturnType<typeof startReceivers>>;
  stop(): Promise<void>;
}

export async function openWorld(database: Database): Promise<World> {
  const others = await startReceivers();
  const { net, delivery } = others;
  const main = await startService({ delivery, signupOpen: true }, { database, net });
  const strict = await startService({ delivery, signupOpen: true, rateLimitPerMinute: 1 }, { database, net });
  const bare = await startService({ maxWebsites: 0, maxMonitors: 0, maxProviders: 0 }, { database, net });
  return {
    main,
    strict,
    bare,
    others,
    async stop() {
      await Promise.all([main.stop(), strict.stop(), bare.stop()]);
      await others.close();
      await database.close();
    },
  };
}
