import type { LookupAddress } from 'node:dns';
import net, { isIP, type LookupFunction, type Socket } from 'node:net';
import tls, { type SecureContext } from 'node:tls';
import type { Phase } from './deadline.ts';
import { NetworkError } from './network-error.ts';

// How long each of several addresses is tried before the next. Node's default of 250 ms is too short for a distant server.
const attemptTimeout = { autoSelectFamilyAttemptTimeout: 1000 };

export interface ConnectionOptions {
  protocol?: 'http/1.1' | 'h2';
  /** Whether the certificate must be valid. */
  verifiesTls?: boolean | undefined;
  /** Called with the time at which the certificate of the server expires, also if it is not valid. */
  onCertificate?: ((expiresAt: Date) => void) | undefined;
}

/** A connection to a host at one of its checked addresses, for one request. */
export class Connection {
  readonly socket: Socket;
  /** Whether the TLS handshake has succeeded. Always false without TLS. */
  isSecure = false;
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
    this.socket = isTls ? this.#connectTls(target, options) : net.connect(target);
    this.socket.on('error', () => {}); // Whoever uses the connection gets the error. It may come before and after that.
  }

  #connectTls(
    target: { host: string; port: number; lookup: LookupFunction },
    { protocol = 'http/1.1', verifiesTls = true, onCertificate }: ConnectionOptions,
  ): Socket {
    const socket = tls.connect({
      ...target,
      ALPNProtocols: [protocol],
      secureContext: secureContext(),
      servername: isIP(target.host) === 0 ? target.host.replace(/\.$/, '') : '',
      rejectUnauthorized: verifiesTls, // NODE_TLS_REJECT_UNAUTHORIZED must not change it.
    });
    // Runs before Node verifies the certificate, because it is not available afterwards.
    socket.prependOnceListener('secure', () => {
      const expiry = new Date(socket.getPeerCertificate().valid_to);
      if (Number.isNaN(expiry.getTime())) return;
      this.#certificateExpiry = expiry;
      onCertificate?.(expiry);
    });
    socket.once('secureConnect', () => {
      this.isSecure = true;
    });
    return socket;
  }

  get phase(): Phase {
    if (this.socket.connecting) return 'connect';
    return this.socket instanceof tls.TLSSocket && !this.isSecure ? 'tls' : 'response';
  }

  /** The protocol that the server chose in the TLS handshake. */
  get protocol(): string | false | null {
    return this.socket instanceof tls.TLSSocket && this.socket.alpnProtocol;
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

let shared: { authorities: string[]; context: SecureContext } | undefined;

/** All connections share one context, because creating it takes longer than most checks. It contains no state of a connection. */
function secureContext(): SecureContext {
  const authorities = tls.getCACertificates('default'); // The same array until the default changes.
  if (shared?.authorities !== authorities) shared = { authorities, context: tls.createSecureContext() };
  return shared.context;
}
