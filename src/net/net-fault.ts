export type NetFaultKind =
  | 'address_not_allowed'
  | 'dns'
  | 'refused'
  | 'reset'
  | 'timeout'
  | 'tls'
  | 'redirect'
  | 'protocol'
  /** A fault of this machine or its network, not to be blamed on the other side. */
  | 'our_side';

/** Why a request got no answer. The message is for people and holds no URL and no secret. */
export class NetFault extends Error {
  readonly kind: NetFaultKind;

  constructor(kind: NetFaultKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/**
 * The fault that an error of Node's network code means. An error that means none, such as a mistake in our own code, comes
 * back as it is. There is no `cause`: the errors of the HTTP parser carry the bytes they choked on.
 */
export function toNetFault(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof NetFault) return error;
  // Several addresses were tried. If the other side was to blame at one of them, that is the news.
  const faults = (error instanceof AggregateError ? error.errors : [error]).map(faultOf);
  return faults.find((fault) => fault && fault.kind !== 'our_side') ?? faults.find((fault) => fault) ?? error;
}

function faultOf(error: Error & { code?: string }): NetFault | undefined {
  const { code = '' } = error;
  const known = faults[code];
  if (known) return new NetFault(...known);
  if (code.startsWith('HPE_')) return new NetFault('protocol', 'the answer is not valid HTTP');
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) return new NetFault('tls', 'TLS handshake failed');
  if (/^(CERT|CRL|UNABLE_TO|INVALID|PATH_LENGTH|HOSTNAME|ERROR_IN_CERT)_|^ERR_TLS_CERT_/.test(code))
    return new NetFault('tls', `TLS certificate not trusted (${code})`);
  if (/^E[A-Z]+$/.test(code)) return new NetFault('protocol', `connection failed (${code})`);
  return undefined;
}

const faults: Record<string, [NetFaultKind, string]> = {
  ENOTFOUND: ['dns', 'DNS name not found'],
  ENODATA: ['dns', 'DNS name without an address'],
  EAI_FAIL: ['dns', 'DNS lookup failed'],
  EAI_AGAIN: ['our_side', 'DNS did not answer'],
  ECONNREFUSED: ['refused', 'connection refused'],
  EHOSTUNREACH: ['refused', 'host cannot be reached'],
  EHOSTDOWN: ['refused', 'host cannot be reached'],
  ECONNRESET: ['reset', 'connection closed before the answer was complete'],
  EPIPE: ['reset', 'connection closed before the answer was complete'],
  ECONNABORTED: ['reset', 'connection closed before the answer was complete'],
  ERR_STREAM_PREMATURE_CLOSE: ['reset', 'connection closed before the answer was complete'],
  ETIMEDOUT: ['timeout', 'connection timed out'],
  CERT_HAS_EXPIRED: ['tls', 'TLS certificate expired'],
  CERT_NOT_YET_VALID: ['tls', 'TLS certificate not valid yet'],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['tls', 'TLS certificate is self-signed'],
  SELF_SIGNED_CERT_IN_CHAIN: ['tls', 'TLS certificate signed by an unknown authority'],
  UNABLE_TO_GET_ISSUER_CERT: ['tls', 'TLS certificate signed by an unknown authority'],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ['tls', 'TLS certificate signed by an unknown authority'],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ['tls', 'TLS certificate signed by an unknown authority'],
  ERR_TLS_CERT_ALTNAME_INVALID: ['tls', 'TLS certificate is for another name'],
  ENETUNREACH: ['our_side', 'no route to the network'],
  ENETDOWN: ['our_side', 'our network is down'],
  EAFNOSUPPORT: ['our_side', 'no addresses of this family on our side'],
  EADDRNOTAVAIL: ['our_side', 'no free address or port on our side'],
  EMFILE: ['our_side', 'too many open connections on our side'],
  ENFILE: ['our_side', 'too many open connections on our side'],
  ENOBUFS: ['our_side', 'out of memory for connections on our side'],
  ENOMEM: ['our_side', 'out of memory for connections on our side'],
  EACCES: ['our_side', 'connection forbidden on our side'],
  EPERM: ['our_side', 'connection forbidden on our side'],
};
