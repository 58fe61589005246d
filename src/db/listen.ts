import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

/** Receives what processes send to each other with PostgreSQL's NOTIFY. */
export interface NotificationListener {
  onNotification(payload: string): void;
  /** Called after each connection, because notifications may have been missed before it. */
  onReconnect(): void;
}

const reconnectMs = 500;

/** Listens on a connection of its own and reconnects when it is lost. Resolves once it listens. */
export async function listenOnPostgres(url: string, channel: string, listener: NotificationListener): Promise<() => Promise<void>> {
  let client: pg.Client;
  let stopped = false;

  async function listen(): Promise<{ closed: Promise<void> }> {
    client = new pg.Client({
      connectionString: url,
      application_name: 'sitekeeper listener',
      keepAlive: true,
      connectionTimeoutMillis: 5000,
    });
    const closed = new Promise<void>((resolve) => client.once('end', resolve));
    client.on('error', () => {}); // An 'end' event follows.
    client.on('notification', ({ payload }) => listener.onNotification(payload ?? ''));
    await client.connect();
    await client.query(`listen ${channel}`);
    listener.onReconnect();
    return { closed };
  }

  async function reconnectWhenClosed(closed: Promise<void>) {
    await closed;
    while (!stopped) {
      await delay(reconnectMs);
      await listen().then(
        (again) => again.closed,
        () => {},
      );
    }
  }

  const { closed } = await listen();
  const reconnecting = reconnectWhenClosed(closed);
  return async () => {
    stopped = true;
    await client.end();
    await reconnecting;
  };
}
