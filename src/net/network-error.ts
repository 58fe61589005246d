import { isIPv6 } from 'node:net';

export type NetworkErrorKind =
  | 'address_not_allowed'
  | 'dns'
  /** No packet reaches the target, or none comes back. */
  | 'unreachable'
  | 'refused'
  | 'reset'
  /** The target accepts connections but does not respond in time. */
  | 'timeout'
  | 'tls'
  | 'redirect'
  | 'protocol'
  /** This machine is not able to send such a request until its operator changes that. */
  | 'not_sent'
  /** This machine has no resources for the request. It was not sent, so this says nothing about the target. */
  | 'local';

/** With these errors, the target has replied with something, even if not with a response. */
const replyKinds = new Set<NetworkErrorKind>(['refused', 'reset', 'timeout', 'tls', 'redirect', 'protocol']);

/**
 * Why a request got no response. The message is written for users and contains no URL and no secret. `cause` is for the log of
 * the operator.
 */
export class NetworkError extends Error {
  readonly kind: NetworkErrorKind;

  constructor(kind: NetworkErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }

  get isReply(): boolean {
    return replyKinds.has(this.kind);
  }
}

/**
 * Converts an error from Node's network modules. Other errors, such as bugs in the service, are returned unchanged. There is no
 * `cause`, because errors of the HTTP parser contain the bytes that could not be parsed.
 */
export function toNetworkError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof NetworkError) return error;
  // If several addresses were tried, a reply is more informative than none, and both are more than a local error.
  const errors = (error instanceof AggregateError ? error.errors : [error]).map(convert).filter((converted) => converted !== undefined);
  return errors.find(({ isReply }) => isReply) ?? errors.find(({ kind }) => kind !== 'local') ?? errors[0] ?? error;
}

function convert(error: Error & { code?: string; address?: string }): NetworkError | undefined {
  // A machine with IPv6 turned off has no address for it.
  const code = error.code === 'EADDRNOTAVAIL' && isIPv6(error.address ?? '') ? 'ENETUNREACH' : (error.code ?? '');
  const known = errorsByCode[code];
  if (known) return new NetworkError(...known);
  if (code.startsWith('HPE_')) return new NetworkError('protocol', 'the response is not valid HTTP');
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) return new NetworkError('tls', 'TLS handshake failed');
  if (/^(CERT|CRL|UNABLE_TO|INVALID|PATH_LENGTH|HOSTNAME|ERROR_IN_CERT)_|^ERR_TLS_CERT_/.test(code))
    return new NetworkError('tls', 'TLS certificate not trusted');
  if (/^E[A-Z]+$/.test(code)) return new NetworkError('unreachable', 'connection failed');
  return undefined;
}

const closedEarly = 'connection closed before the response was complete';
const unknownAuthority = 'TLS certificate signed by an unknown authority';

const errorsByCode: Record<string, [NetworkErrorKind, string]> = {
  ENOTFOUND: ['dns', 'DNS name not found'],
  ENODATA: ['dns', 'DNS name has no address'],
  EAI_FAIL: ['dns', 'DNS lookup failed: the DNS server reported an error'],
  EAI_AGAIN: ['dns', 'DNS lookup failed: no response'],
  ECONNREFUSED: ['refused', 'connection refused'],
  EHOSTUNREACH: ['unreachable', 'host unreachable'],
  EHOSTDOWN: ['unreachable', 'host unreachable'],
  ENETUNREACH: ['unreachable', 'no route to the host'],
  ENETDOWN: ['unreachable', 'no route to the host'],
  EAFNOSUPPORT: ['unreachable', 'no route to the host'],
  EACCES: ['unreachable', 'connection not permitted by a firewall'],
  EPERM: ['unreachable', 'connection not permitted by a firewall'],
  ECONNRESET: ['reset', closedEarly],
  EPIPE: ['reset', closedEarly],
  ECONNABORTED: ['reset', closedEarly],
  ERR_STREAM_PREMATURE_CLOSE: ['reset', closedEarly],
  ETIMEDOUT: ['unreachable', 'connection timed out'],
  CERT_HAS_EXPIRED: ['tls', 'TLS certificate expired'],
  CERT_NOT_YET_VALID: ['tls', 'TLS certificate not valid yet'],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['tls', 'TLS certificate is self-signed'],
  SELF_SIGNED_CERT_IN_CHAIN: ['tls', unknownAuthority],
  UNABLE_TO_GET_ISSUER_CERT: ['tls', unknownAuthority],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ['tls', unknownAuthority],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ['tls', unknownAuthority],
  ERR_TLS_CERT_ALTNAME_INVALID: ['tls', 'TLS certificate is for another name'],
  EADDRNOTAVAIL: ['local', 'no free local address or port'],
  EMFILE: ['local', 'too many open files locally'],
  ENFILE: ['local', 'too many open files locally'],
  ENOBUFS: ['local', 'out of local memory for connections'],
  ENOMEM: ['local', 'out of local memory for connections'],
  EAGAIN: ['local', 'too many processes locally'],
};
