import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { LocalFailure } from '../../../src/monitoring/checks/local-failure.ts';
import { parseRanges } from '../../../src/net/addresses.ts';
import { checkHttp } from '../../support/checks.ts';
import { startTestClock } from '../../support/test-clock.ts';
import { scripts, startWebServer, type WebServer } from '../../support/web-server.ts';

let target: WebServer;
const net = { allow: parseRanges(['127.0.0.1']) };

beforeAll(async () => {
  target = await startWebServer();
});
afterAll(() => target.close());

test.each([200, 204, 299])('status %i is up with the response time', async (status) => {
  target.script = scripts.respond('', status);
  expect(await checkHttp(target.url, net)).toEqual({ up: true, responseTimeMs: expect.any(Number) });
});

test.each([
  [304, 'HTTP 304, expected 2xx'],
  [404, 'HTTP 404'],
  [503, 'HTTP 503'],
])('status %i is down with the cause %s, and the response time', async (status, cause) => {
  target.script = scripts.respond('', status);
  const result = { up: false, cause, statusCode: status, responseTimeMs: expect.any(Number) };
  expect(await checkHttp(target.url, net)).toEqual(result);
});

test.each([
  ['without Location', scripts.respond('', 302)],
  ['with an invalid Location', scripts.redirect('http://[')],
  ['with a status that is no redirect', scripts.redirect('/', 300)],
])('a response 3xx %s is down', async (_, script) => {
  target.script = script;
  expect(await checkHttp(target.url, net)).toMatchObject({ up: false, cause: expect.stringMatching(/^HTTP 30[02], expected 2xx$/) });
});

test('the last response after redirects is decisive', async () => {
  target.script = ({ path }, response) =>
    path === '/end' ? response.writeHead(503).end() : response.writeHead(302, { location: '/end' }).end();
  expect(await checkHttp(target.url, net)).toMatchObject({ up: false, cause: 'HTTP 503', statusCode: 503 });
});

test('cookies that a redirect sets are sent to the page that it leads to', async () => {
  target.script = ({ path, headers }, response) => {
    if (path === '/start') response.writeHead(302, { location: '/end', 'set-cookie': 'session=1' }).end();
    else response.writeHead(headers.cookie === 'session=1' ? 200 : 403).end();
  };
  expect(await checkHttp(`${target.url}/start`, net)).toMatchObject({ up: true });
});

test('five redirects are followed, and a sixth is not', async () => {
  target.script = ({ path }, response) => {
    const left = Number(path.slice(1));
    if (left === 0) response.writeHead(200).end();
    else response.writeHead(302, { location: `/${left - 1}` }).end();
  };
  expect(await checkHttp(`${target.url}/5`, net)).toMatchObject({ up: true });
  expect(await checkHttp(`${target.url}/6`, net)).toMatchObject({ up: false, cause: 'too many redirects' });
});

test.each([
  ['a chunked body of 3 MB', {}, scripts.respond('x'.repeat(3_000_000))],
  ['an endless body', {}, scripts.endless()],
  ['a body that stalls after 64 KiB', {}, (_: unknown, response: ServerResponse) => void response.write(Buffer.alloc(64 * 1024))],
  ['silent events', { 'content-type': 'text/event-stream' }, (_: unknown, response: ServerResponse) => response.flushHeaders()],
  ['slow events', { 'content-type': 'Text/Event-Stream; charset=utf-8' }, scripts.drip()],
  ['the images of a camera', { 'content-type': 'multipart/x-mixed-replace;boundary=x' }, scripts.drip()],
])('a response 200 with %s is up', async (_, headers, script) => {
  target.script = (request, response) => {
    response.setHeaders(new Map(Object.entries(headers)));
    script(request, response);
  };
  expect(await checkHttp(target.url, net)).toEqual({ up: true, responseTimeMs: expect.any(Number) });
});

test.each([
  ['drips', scripts.drip()],
  ['stalls', scripts.stall()],
])('a body that %s before 64 KiB is down with a timeout and the time to the head', async (_, script) => {
  target.script = script;
  const clock = startTestClock();
  onTestFinished(() => clock.stop());
  const head = new Promise<void>((resolve) => onClientResponse(resolve));
  const check = checkHttp(target.url, net);
  await head;
  clock.advance(10_000);
  const cause = 'timed out after 10 s while reading the body';
  expect(await check).toEqual({ up: false, cause, statusCode: null, responseTimeMs: expect.any(Number), reply: 'earlier' });
});

test('the response time includes the body', async () => {
  let response: ServerResponse | undefined;
  target.script = (_, sent) => {
    response = sent;
    response.writeHead(200).write('so far');
  };
  const clock = startTestClock({ isFrozen: true });
  onTestFinished(() => clock.stop());
  const head = new Promise<void>((resolve) => onClientResponse(resolve));
  const check = checkHttp(target.url, net);
  await head;
  clock.advance(300);
  response?.end();
  expect(await check).toEqual({ up: true, responseTimeMs: expect.closeTo(300) });
});

/** Tells when the head of a response has arrived at the client. */
function onClientResponse(listener: () => void) {
  subscribe('http.client.response.finish', listener);
  onTestFinished(() => void unsubscribe('http.client.response.finish', listener));
}

test('a name whose DNS servers do not respond is down with a timeout', async () => {
  const clock = startTestClock();
  onTestFinished(() => clock.stop());
  const check = checkHttp('http://shop.example/', { ...net, lookup: () => new Promise<never>(() => {}) });
  clock.advance(10_000);
  expect(await check).toEqual({ up: false, cause: 'timed out after 10 s waiting for DNS', statusCode: null, reply: 'none' });
});

test.each([
  ['a redirect loop', scripts.redirect('/loop'), 'too many redirects'],
  [
    'a redirect to an address that is not allowed',
    scripts.redirect('http://10.0.0.1/'),
    'address not allowed: it is private, local or reserved',
  ],
  ['a response that ends early', scripts.truncate(), 'connection closed before the response was complete'],
])('%s is down with the time to the last response', async (_, script, cause) => {
  target.script = script;
  const result = { up: false, cause, statusCode: null, responseTimeMs: expect.any(Number) };
  expect(await checkHttp(target.url, net)).toMatchObject(result);
});

test('a target that sends no response is down with a readable cause and without a response time', async () => {
  target.script = scripts.reset();
  expect(await checkHttp(target.url, net)).toEqual({
    up: false,
    cause: 'connection closed before the response was complete',
    statusCode: null,
  });
});

test('a name that cannot be resolved after a redirect is down, although there was a reply earlier', async () => {
  target.script = scripts.redirect('http://gone.example/');
  const lookup = () => Promise.reject(Object.assign(new Error('injected'), { code: 'ENOTFOUND' }));
  expect(await checkHttp(target.url, { ...net, lookup })).toMatchObject({ up: false, cause: 'DNS name not found', reply: 'earlier' });
});

test('an address that is not allowed is down', async () => {
  expect(await checkHttp(target.url, { allow: [] })).toEqual({
    up: false,
    cause: 'address not allowed: it is private, local or reserved',
    statusCode: null,
    reply: 'not_asked',
  });
});

test('an error of this machine is a local failure', async () => {
  const lookup = () => Promise.reject(Object.assign(new Error('injected'), { code: 'EMFILE' }));
  const result = await checkHttp('http://shop.example/', { ...net, lookup });
  expect(result).toBeInstanceOf(LocalFailure);
  expect(result).toMatchObject({ message: 'too many open files locally' });
});
