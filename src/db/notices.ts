import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';

/** Hears what processes tell each other through the database. */
export interface Listener {
  onNotice(payload: string): void;
  /** Something may have been missed. */
  onGap(): void;
}

const retryMs = 500;

/** Listens on a connection of its own and connects again when that is lost. Resolves once it listens. */
export async function listenOnPostgres(url: string, channel: string, listener: Listener): Promise<() => Promise<void>> {
  let client: pg.Client;
  let stopped = false;

  async function listen(): Promise<{ lost: Promise<void> }> {
    client = new pg.Client({
      connectionString: url,
      application_name: 'sitekeeper notices',
      keepAlive: true,
      connectionTimeoutMillis: 5000,
    });
    const lost = new Promise<void>((resolve) => client.once('end', resolve));
    client.on('error', () => {}); // 'end' follows
    client.on('notification', ({ payload }) => listener.onNotice(payload ?? ''));
    await client.connect();
    await client.query(`listen ${channel}`);
    listener.onGap();
    return { lost };
  }

  async function keepListening(lost: Promise<void>) {
    await lost;
    while (!stopped) {
      await pause(retryMs);
      await listen().then(
        (again) => again.lost,
        () => {},
      );
    }
  }

  const { lost } = await listen();
  const kept = keepListening(lost);
  return async () => {
    stopped = true;
    await client.end();
    await kept;
  };
}
