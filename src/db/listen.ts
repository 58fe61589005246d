import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { type AvailabilityObserver, reasonOf } from './availability.ts';
import { closeWhenSilent } from './close-connection.ts';
import type { Hosts } from './hosts.ts';

/** Receives what processes send to each other with PostgreSQL's NOTIFY. */
export interface NotificationListener {
  onNotification(payload: string): void;
  /** Called after each connection, because notifications may have been missed before it. */
  onReconnect(): void;
}

const reconnectMs = 500;
/** A query is sent this often, because a frozen or unreachable server does not close its connections. */
const heartbeatMs = 2000;
const silenceMs = 5000;

/** Listens to all channels on one connection of its own, and reconnects when it is lost. */
export class NotificationConnection {
  readonly #hosts: Hosts;
  readonly #availability: AvailabilityObserver | undefined;
  readonly #listeners: { channel: string; listener: NotificationListener }[] = [];
  #client: pg.Client | undefined;
  #started: Promise<void> | undefined;
  #reconnecting: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(hosts: Hosts, availability?: AvailabilityObserver) {
    this.#hosts = hosts;
    this.#availability = availability;
  }

  /** Resolves once it listens to the channel. */
  async listen(channel: string, listener: NotificationListener): Promise<void> {
    this.#listeners.push({ channel, listener });
    this.#started ??= this.#start();
    await this.#started;
    // If the connection has just been lost, the next one listens to every channel.
    await this.#client?.query(`listen ${channel}`).catch(() => {});
    listener.onReconnect();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#client?.end();
    await this.#reconnecting;
  }

  async #start() {
    this.#reconnecting = this.#keepConnected(await this.#connect());
  }

  /** Resolves with a promise that resolves when the connection is lost. */
  async #connect(): Promise<{ closed: Promise<void> }> {
    const client = new this.#hosts.Client({
      connectionString: this.#hosts.url,
      application_name: 'sitekeeper listener',
      pipeline: true,
      connectionTimeoutMillis: 5000,
    });
    const closed = new Promise<void>((resolve) => client.once('end', resolve));
    client.on('error', () => {}); // An 'end' event follows.
    client.on('notification', (notification) => {
      for (const { channel, listener } of this.#listeners) {
        if (channel === notification.channel) listener.onNotification(notification.payload ?? '');
      }
    });
    await client.connect();
    closeWhenSilent(client, silenceMs);
    for (const { channel } of this.#listeners) await client.query(`listen ${channel}`);
    sendHeartbeats(client).catch(() => {}); // It is closed, or an 'end' event follows.
    this.#client = client;
    if (this.#isClosed) await client.end(); // It was closed in the meantime, when it had no client to end.
    return { closed };
  }

  async #keepConnected({ closed }: { closed: Promise<void> }) {
    await closed;
    while (!this.#isClosed) {
      await delay(reconnectMs);
      if (this.#isClosed) return;
      const connected = await this.#connect().catch((error: Error) => this.#availability?.failed(reasonOf(error)));
      if (!connected) continue;
      this.#availability?.succeeded();
      for (const { listener } of this.#listeners) listener.onReconnect();
      await connected.closed;
    }
  }
}

/** The next one is sent after the response, so that the connection is silent if there is none. */
async function sendHeartbeats(client: pg.Client): Promise<never> {
  for (;;) {
    await delay(heartbeatMs, undefined, { ref: false });
    await client.query('select 1');
  }
}
