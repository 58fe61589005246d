import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { requiresWritable, splitHosts } from '../config/postgres-url.ts';
import { closeConnection, closeWhenSilent, readOnlyCode } from './close-connection.ts';

type Address = Pick<pg.Client, 'host' | 'port'>;
type Callback = (error: Error | null) => void;

/** A host that takes longer than this to accept a connection is not used. */
const probeTimeoutMs = 2000;
/** A search that finds no host takes at least this long, so that requests do not flood the hosts with searches. */
const searchAgainMs = 250;
/** PostgreSQL 14 and newer report these settings when a session begins. */
const readOnlySettings = ['in_hot_standby', 'default_transaction_read_only'];

/**
 * The hosts of a database URL. With target_session_attrs=read-write, only the host that accepts writes is used. All hosts are
 * asked at the same time, because a frozen or unreachable one does not answer. New connections go to the host that was found
 * until a connection to it fails.
 */
export class Hosts {
  /** The URL with the first host only. */
  readonly url: string;
  /** Connects to the host that accepts writes instead of the one in its settings. */
  readonly Client: typeof pg.Client;
  readonly #urls: string[];
  readonly #clients = new Set<pg.Client>();
  #current: Address | undefined;
  #search: Promise<Address> | undefined;

  constructor(url: string) {
    this.#urls = splitHosts(url);
    this.url = this.#urls[0] ?? url;
    this.Client = requiresWritable(url) ? createClientClass(this) : pg.Client;
  }

  /** Returns the host that accepts writes. There is nothing to search if the URL has one host. */
  async find(): Promise<Address | undefined> {
    if (this.#urls.length === 1) return undefined;
    if (this.#current) return this.#current;
    this.#search ??= this.#probeAll();
    return this.#search;
  }

  /** Called with each new connection. Throws if another host was found while it was being opened. */
  add(client: pg.Client): void {
    if (this.#current && !isSame(this.#current, client)) throw readOnlyError();
    this.#clients.add(client);
    client.once('end', () => this.#clients.delete(client));
  }

  /** Called when a connection fails. The next connection searches for the host that accepts writes. */
  forget(address: Address): void {
    if (this.#current && isSame(this.#current, address)) this.#current = undefined;
  }

  async #probeAll(): Promise<Address> {
    try {
      this.#current = await Promise.any(this.#urls.map(probe));
      // The other hosts are not the primary any more, but a frozen one would keep its connections open.
      for (const client of this.#clients) if (!isSame(this.#current, client)) closeConnection(client, 'another host is the primary now');
      return this.#current;
    } catch (error) {
      await delay(searchAgainMs);
      throw noWritableHost((error as AggregateError).errors);
    } finally {
      this.#search = undefined;
    }
  }
}

/** Connects and disconnects. Throws if the host does not accept writes. */
async function probe(url: string): Promise<Address> {
  const client = new pg.Client({ connectionString: url, application_name: 'sitekeeper probe', connectionTimeoutMillis: probeTimeoutMs });
  client.on('error', () => {});
  const isReadOnly = watchReadOnly(client);
  try {
    await client.connect();
    closeWhenSilent(client, probeTimeoutMs); // Otherwise disconnecting could take forever.
    if (isReadOnly()) throw readOnlyError();
    return { host: client.host, port: client.port };
  } catch (cause) {
    const { message, code } = cause as NodeJS.ErrnoException;
    throw Object.assign(new Error(`${client.host}:${client.port}: ${message || code}`, { cause }), { code });
  } finally {
    client.end().catch(() => {});
  }
}

function createClientClass(hosts: Hosts): typeof pg.Client {
  return class extends pg.Client {
    readonly #isReadOnly = watchReadOnly(this);

    override connect(): Promise<pg.Client>;
    override connect(callback: Callback): void;
    override connect(callback?: Callback): Promise<pg.Client> | undefined {
      const connected = this.#connect();
      if (!callback) return connected;
      connected.then(() => callback(null), callback);
      return undefined;
    }

    async #connect(): Promise<pg.Client> {
      Object.assign(this, await hosts.find());
      this.on('error', () => hosts.forget(this));
      try {
        await super.connect();
        if (this.#isReadOnly()) throw readOnlyError();
        hosts.add(this);
        return this;
      } catch (error) {
        hosts.forget(this);
        this.end().catch(() => {});
        throw error;
      }
    }
  };
}

/** Returns a function that tells whether the server has reported that it does not accept writes. */
function watchReadOnly(client: pg.Client): () => boolean {
  const settings = new Map<string, string>();
  client.connection.on('parameterStatus', ({ parameterName, parameterValue }) => settings.set(parameterName, parameterValue));
  return () => readOnlySettings.some((name) => settings.get(name) === 'on');
}

function isSame(a: Address, b: Address): boolean {
  return a.host === b.host && a.port === b.port;
}

function readOnlyError(): Error {
  return Object.assign(new Error('the server does not accept writes'), { code: readOnlyCode });
}

/** Its code is that of an error that the operator can fix, such as a wrong password, rather than of a host that is a standby. */
function noWritableHost(errors: (Error & { code?: string })[]): Error {
  const { code = readOnlyCode } = errors.find((error) => error.code !== readOnlyCode) ?? {};
  return Object.assign(new Error(`No host accepts writes (${errors.map(({ message }) => message).join('; ')})`), { code });
}
