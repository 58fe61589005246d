export type NetworkErrorKind =
  | 'address_not_allowed'
  | 'dns'
  | 'refused'
  | 'reset'
  | 'timeout'
  | 'tls'
  | 'redirect'
  | 'protocol'
  /** An error of this machine or its network. It says nothing about the target. */
  | 'local';

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
}

/**
 * Converts an error from Node's network modules. Other errors, such as bugs in the service, are returned unchanged. There is no
 * `cause`, because errors of the HTTP parser contain the bytes that could not be parsed.
 */
export function toNetworkError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof NetworkError) return error;
  // If several addresses were tried, an error of the target is more informative than a local one.
  const errors = (error instanceof AggregateError ? error.errors : [error]).map(convert);
  return errors.find((converted) => converted && converted.kind !== 'local') ?? errors.find((converted) => converted) ?? error;
}

function convert(error: Error & { code?: string }): NetworkError | undefined {
  const { code = '' } = error;
  const known = errorsByCode[code];
  if (known) return new NetworkError(...known);
  if (code.startsWith('HPE_')) return new NetworkError('protocol', 'the response is not valid HTTP');
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) return new NetworkError('tls', 'TLS handshake failed');
  if (/^(CERT|CRL|UNABLE_TO|INVALID|PATH_LENGTH|HOSTNAME|ERROR_IN_CERT)_|^ERR_TLS_CERT_/.test(code))
    return new NetworkError('tls', `TLS certificate not trusted (${code})`);
  if (/^E[A-Z]+$/.test(code)) return new NetworkError('protocol', `connection failed (${code})`);
  return undefined;
}

const closedEarly = 'connection closed before the response was complete';
const unknownAuthority = 'TLS certificate signed by an unknown authority';

const errorsByCode: Record<string, [NetworkErrorKind, string]> = {
  ENOTFOUND: ['dns', 'DNS name not found'],
  ENODATA: ['dns', 'DNS name has no address'],
  EAI_FAIL: ['dns', 'DNS lookup failed'],
  EAI_AGAIN: ['local', 'DNS did not respond'],
  ECONNREFUSED: ['refused', 'connection refused'],
  EHOSTUNREACH: ['refused', 'host unreachable'],
  EHOSTDOWN: ['refused', 'host unreachable'],
  ECONNRESET: ['reset', closedEarly],
  EPIPE: ['reset', closedEarly],
  ECONNABORTED: ['reset', closedEarly],
  ERR_STREAM_PREMATURE_CLOSE: ['reset', closedEarly],
  ETIMEDOUT: ['timeout', 'connection timed out'],
  CERT_HAS_EXPIRED: ['tls', 'TLS certificate expired'],
  CERT_NOT_YET_VALID: ['tls', 'TLS certificate not valid yet'],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['tls', 'TLS certificate is self-signed'],
  SELF_SIGNED_CERT_IN_CHAIN: ['tls', unknownAuthority],
  UNABLE_TO_GET_ISSUER_CERT: ['tls', unknownAuthority],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ['tls', unknownAuthority],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ['tls', unknownAuthority],
  ERR_TLS_CERT_ALTNAME_INVALID: ['tls', 'TLS certificate is for another name'],
  ENETUNREACH: ['local', 'no route to the network'],
  ENETDOWN: ['local', 'the local network is down'],
  EAFNOSUPPORT: ['local', 'address family not supported locally'],
  EADDRNOTAVAIL: ['local', 'no free local address or port'],
  EMFILE: ['local', 'too many open files locally'],
  ENFILE: ['local', 'too many open files locally'],
  ENOBUFS: ['local', 'out of local memory for connections'],
  ENOMEM: ['local', 'out of local memory for connections'],
  EACCES: ['local', 'connection not permitted locally'],
  EPERM: ['local', 'connection not permitted locally'],
};
