import type { LookupAddress } from 'node:dns';
import net, { isIP, type LookupFunction, type Socket, type TcpNetConnectOpts } from 'node:net';
import type { Phase } from './deadline.ts';
import { NetworkError } from './network-error.ts';
import { TlsStream } from './tls-stream.ts';

// How long each of several addresses is tried before the next. Node's default of 250 ms is too short for a distant server.
const attemptTimeout = { autoSelectFamilyAttemptTimeout: 1000 };

export interface ConnectionOptions {
  /** Whose check it is. The users share the thread of TLS equally. */
  userId?: number;
  protocol?: 'http/1.1' | 'h2';
  /** Whether the certificate must be valid. */
  verifiesTls?: boolean | undefined;
  /** Called with the time at which the certificate of the server expires, also if it is not valid. */
  onCertificate?: ((expiresAt: Date) => void) | undefined;
}

/** A connection to a host at one of its checked addresses, for one request. */
export class Connection {
  readonly socket: Socket | TlsStream;
  #certificateExpiry: Date | undefined;

  constructor(url: URL, addresses: LookupAddress[], options: ConnectionOptions = {}) {
    const host = hostOf(url);
    const isTls = url.protocol === 'https:';
    const target = {
      host,
      port: Number(url.port) || (isTls ? 443 : 80),
      // Node calls lookup only for names. A host that is an IP address was checked and is used as it is.
      lookup: fixedLookup(addresses),
      ...attemptTimeout,
    };
    this.socket = isTls ? this.#secure(target, options) : net.connect(target);
    this.socket.on('error', () => {}); // Whoever uses the connection gets the error. It may come before and after that.
  }

  #secure(
    target: TcpNetConnectOpts & { host: string },
    { userId = 0, protocol = 'http/1.1', verifiesTls = true, onCertificate }: ConnectionOptions,
  ) {
    const { host } = target;
    const servername = isIP(host) === 0 ? host.replace(/\.$/, '') : '';
    return new TlsStream(target, userId, { protocol, host, servername, verifiesTls }).once('certificate', (expiresAt: Date) => {
      this.#certificateExpiry = expiresAt;
      onCertificate?.(expiresAt);
    });
  }

  /** Whether the TLS handshake has succeeded. Always false without TLS. */
  get isSecure(): boolean {
    return this.socket instanceof TlsStream && this.socket.isSecure;
  }

  get phase(): Phase {
    if (this.socket.connecting) return 'connect';
    return this.socket instanceof TlsStream && !this.isSecure ? 'tls' : 'response';
  }

  /** The number of bytes that the server has sent, of which a part may still wait to be read. */
  get bytesReceived(): number {
    return this.socket instanceof TlsStream ? this.socket.encryptedBytesRead : this.socket.bytesRead;
  }

  /** The protocol that the server chose in the TLS handshake. */
  get protocol(): string | false | null {
    return this.socket instanceof TlsStream && this.socket.protocol;
  }

  /** Adds the date to the error of an expired certificate. */
  explain(error: unknown): unknown {
    const expiry = this.#certificateExpiry;
    // Another certificate of the chain may have expired. The date of this one would then be misleading.
    if ((error as { code?: string }).code !== 'CERT_HAS_EXPIRED' || !expiry || !(expiry.getTime() < Date.now())) return error;
    return new NetworkError('tls', `TLS certificate expired on ${expiry.toISOString().slice(0, 10)}`);
  }
}

export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

function fixedLookup(addresses: LookupAddress[]): LookupFunction {
  return (_, { all }, callback) => {
    const [first] = addresses;
    if (all) callback(null, addresses);
    else callback(null, first?.address ?? '', first?.family);
  };
}
