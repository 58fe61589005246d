import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { findRequestProblem } from '../../src/http/request-line.ts';

/** A request in the form in which Node's parser delivers it. */
function request({ url = '/', hosts = ['example.com'], httpVersion = '1.1', otherHeaders = 0 } = {}) {
  const rawHeaders = [...hosts.flatMap((host) => ['Host', host]), ...Array(otherHeaders).fill(['X', 'host']).flat()];
  const headers = hosts[0] === undefined ? {} : { host: hosts[0] };
  return { url, rawHeaders, headers, httpVersion } as Partial<IncomingMessage> as IncomingMessage;
}

test.each(['/', '/api?x=1', '//x', '*', 'http://example.com/', 'HTTPS://example.com/x'])('accepts the URL %s', (url) => {
  expect(findRequestProblem(request({ url }))).toBeUndefined();
});

test.each(['', 'api', '**', 'ftp://example.com/', 'http://', 'http://[', 'xhttp://example.com/'])('rejects the URL "%s"', (url) => {
  expect(findRequestProblem(request({ url }))).toEqual(['malformed_request', 'The URL in the first line of the request is not valid.']);
});

test.each([
  'example.com',
  'example.com:80',
  'EXAMPLE.com:65535',
  'example.com:',
  'a_b-c.~!$&()*+,;=',
  '%e2%82%AC',
  '192.0.2.1',
  '[2001:db8::1]:443',
  '[::ffff:192.0.2.1]',
])('accepts the host %s', (host) => expect(findRequestProblem(request({ hosts: [host] }))).toBeUndefined());

test.each([
  '',
  'a b',
  'a/b',
  'a@b',
  'a:b',
  'example.com:65536',
  'example.com:000080',
  '%zz',
  '%e',
  '[2001:db8::1',
  '[g::1]',
  '[]',
  '[1]',
  '[::1]x',
  'x[::1]',
  ':80',
])('rejects the host "%s"', (host) => {
  expect(findRequestProblem(request({ hosts: [host] }))).toEqual([
    'malformed_request',
    'The Host header is not a host name with an optional port.',
  ]);
});

test('requires the Host header in HTTP/1.1 only', () => {
  expect(findRequestProblem(request({ hosts: [] }))).toEqual(['malformed_request', 'The Host header is missing.']);
  expect(findRequestProblem(request({ hosts: [], httpVersion: '1.0' }))).toBeUndefined();
});

test('rejects a second Host header, also if both are the same', () => {
  const problem = ['malformed_request', 'The Host header must not be given more than once.'];
  expect(findRequestProblem(request({ hosts: ['example.com', 'example.com'] }))).toEqual(problem);
});

test('accepts a header whose value is "host"', () => {
  expect(findRequestProblem(request({ otherHeaders: 3 }))).toBeUndefined();
});

test('accepts 200 headers and rejects 201', () => {
  expect(findRequestProblem(request({ otherHeaders: 199 }))).toBeUndefined();
  expect(findRequestProblem(request({ otherHeaders: 200 }))).toEqual(['headers_too_large', 'A request can have at most 200 headers.']);
});
