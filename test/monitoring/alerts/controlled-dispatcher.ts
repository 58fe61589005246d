// A dispatcher with a channel that the test controls.
import { pino } from 'pino';
import { readConfig } from '../../../src/config/config.ts';
import type { Database } from '../../../src/db/database.ts';
import { Dispatcher } from '../../../src/monitoring/alerts/dispatcher.ts';
import type { Channel, Message } from '../../../src/monitoring/channels/channel.ts';
import { createChannels } from '../../../src/monitoring/channels/registry.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { testCipher } from '../../support/cipher.ts';

interface Options {
  database: Pick<Database, 'engineTransaction'>;
  /** Gets the messages of the channel email. */
  send(message: Message): Promise<void>;
  write?(line: string): void;
  audience?: Channel['audience'];
}

export function startDispatcher({ database, send, write = () => {}, audience = 'people' }: Options) {
  const channels = createChannels(readConfig({}).delivery, { allow: [] });
  const metrics = createMetrics();
  const dispatcher = new Dispatcher({
    database: database as Database,
    channels: { ...channels, email: { ...channels.email, audience, send: (_, message) => send(message) } },
    cipher: testCipher,
    log: pino({}, { write }),
    metrics,
  });
  dispatcher.start();
  return { dispatcher, metrics };
}
