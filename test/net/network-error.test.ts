import { expect, test } from 'vitest';
import { NetworkError, toNetworkError } from '../../src/net/network-error.ts';

const errorWith = (code: string) => Object.assign(new Error(code), { code });

test.each([
  ['ENOTFOUND', 'dns', 'DNS name not found'],
  ['ENODATA', 'dns', 'DNS name has no address'],
  ['EAI_FAIL', 'dns', 'DNS lookup failed: the DNS server reported an error'],
  ['EAI_AGAIN', 'dns', 'DNS lookup failed: no response'],
  ['ECONNREFUSED', 'refused', 'connection refused'],
  ['EHOSTUNREACH', 'unreachable', 'host unreachable'],
  ['EHOSTDOWN', 'unreachable', 'host unreachable'],
  ['ECONNRESET', 'reset', 'connection closed before the response was complete'],
  ['EPIPE', 'reset', 'connection closed before the response was complete'],
  ['ECONNABORTED', 'reset', 'connection closed before the response was complete'],
  ['ERR_STREAM_PREMATURE_CLOSE', 'reset', 'connection closed before the response was complete'],
  ['ETIMEDOUT', 'unreachable', 'connection timed out'],
  ['CERT_HAS_EXPIRED', 'tls', 'TLS certificate expired'],
  ['CERT_NOT_YET_VALID', 'tls', 'TLS certificate not valid yet'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls', 'TLS certificate is self-signed'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'tls', 'TLS certificate signed by an unknown authority'],
  ['UNABLE_TO_GET_ISSUER_CERT', 'tls', 'TLS certificate signed by an unknown authority'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'tls', 'TLS certificate signed by an unknown authority'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls', 'TLS certificate signed by an unknown authority'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls', 'TLS certificate is for another name'],
  ['CERT_REVOKED', 'tls', 'TLS certificate not trusted'],
  ['ERR_TLS_CERT_SIGNATURE_ALGORITHM_UNSUPPORTED', 'tls', 'TLS certificate not trusted'],
  ['EPROTO', 'tls', 'TLS handshake failed'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls', 'TLS handshake failed'],
  ['HPE_INVALID_CONSTANT', 'protocol', 'the response is not valid HTTP'],
  ['EMSGSIZE', 'unreachable', 'connection failed'],
  ['ENETUNREACH', 'unreachable', 'no route to the host'],
  ['ENETDOWN', 'unreachable', 'no route to the host'],
  ['EAFNOSUPPORT', 'unreachable', 'no route to the host'],
  ['EADDRNOTAVAIL', 'local', 'no free local address or port'],
  ['EMFILE', 'local', 'too many open files locally'],
  ['ENFILE', 'local', 'too many open files locally'],
  ['ENOBUFS', 'local', 'out of local memory for connections'],
  ['ENOMEM', 'local', 'out of local memory for connections'],
  ['EAGAIN', 'local', 'too many processes locally'],
  ['EACCES', 'unreachable', 'connection not permitted by a firewall'],
  ['EPERM', 'unreachable', 'connection not permitted by a firewall'],
])('%s is an error of the kind %s: %s', (code, kind, message) => {
  const converted = toNetworkError(errorWith(code));
  expect(converted).toBeInstanceOf(NetworkError);
  expect(converted).toMatchObject({ kind, message });
  expect(converted).not.toHaveProperty('cause');
});

test('without IPv6 on this machine, a target that has nothing else cannot be reached', () => {
  const noAddress = (address: string) => toNetworkError(Object.assign(errorWith('EADDRNOTAVAIL'), { address }));
  expect(noAddress('2001:db8::7')).toMatchObject({ kind: 'unreachable', message: 'no route to the host' });
  expect(noAddress('192.0.2.7')).toMatchObject({ kind: 'local' });
});

test('a network error stays as it is', () => {
  const error = new NetworkError('redirect', 'too many redirects', { cause: 'x' });
  expect(toNetworkError(error)).toBe(error);
  expect(error.cause).toBe('x');
});

test('if several addresses were tried, prefers a reply to none, and both to a local error', () => {
  const [local, noRoute, refused] = [errorWith('EMFILE'), errorWith('ENETUNREACH'), errorWith('ECONNREFUSED')];
  expect(toNetworkError(new AggregateError([local, noRoute, refused]))).toMatchObject({ kind: 'refused' });
  expect(toNetworkError(new AggregateError([local, noRoute]))).toMatchObject({ kind: 'unreachable' });
  expect(toNetworkError(new AggregateError([local]))).toMatchObject({ kind: 'local' });
});

test.each([
  ['refused', true],
  ['reset', true],
  ['tls', true],
  ['redirect', true],
  ['protocol', true],
  ['dns', false],
  ['unreachable', false],
  ['timeout', true],
  ['address_not_allowed', false],
  ['local', false],
] as const)('with an error of the kind %s, the target has replied: %s', (kind, isReply) => {
  expect(new NetworkError(kind, '').isReply).toBe(isReply);
});

test.each([
  ['a bug', new TypeError('x is not a function')],
  ['an error with another code', errorWith('ERR_INVALID_ARG_TYPE')],
  ['an error whose code only ends like one', errorWith('MY_EFAULT')],
  ['an error whose code only contains one', errorWith('NOT_CERT_REVOKED')],
  ['an error whose code only begins like one', errorWith('Efault')],
  ['several errors of which none comes from the network', new AggregateError([new Error('a')])],
  ['a value that is no error', 'x'],
])('%s is returned unchanged', (_, error) => expect(toNetworkError(error)).toBe(error));
