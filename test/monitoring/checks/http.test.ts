import { afterAll, beforeAll, expect, test } from 'vitest';
import { LocalFailure } from '../../../src/monitoring/checks/local-failure.ts';
import { parseRanges } from '../../../src/net/addresses.ts';
import { checkHttp } from '../../support/checks.ts';
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

test.each([304, 404, 503])('status %i is down with the status as cause, and the response time', async (status) => {
  target.script = scripts.respond('', status);
  const result = { up: false, cause: `HTTP ${status}`, statusCode: status, responseTimeMs: expect.any(Number) };
  expect(await checkHttp(target.url, net)).toEqual(result);
});

test.each([
  ['without Location', scripts.respond('', 302)],
  ['with an invalid Location', scripts.redirect('http://[')],
  ['with a status that is no redirect', scripts.redirect('/', 300)],
])('a response 3xx %s is down', async (_, script) => {
  target.script = script;
  expect(await checkHttp(target.url, net)).toMatchObject({ up: false, cause: expect.stringMatching(/^HTTP 30[02]$/) });
});

test('the last response after redirects is decisive', async () => {
  target.script = ({ path }, response) =>
    path === '/end' ? response.writeHead(503).end() : response.writeHead(302, { location: '/end' }).end();
  expect(await checkHttp(target.url, net)).toMatchObject({ up: false, cause: 'HTTP 503', statusCode: 503 });
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
  ['a redirect loop', scripts.redirect('/loop'), 'too many redirects'],
  ['a redirect to an address that is not allowed', scripts.redirect('http://10.0.0.1/'), 'address_not_allowed'],
  ['a response that ends early', scripts.truncate(), 'connection closed before the response was complete'],
])('%s is down with the time to the last response', async (_, script, cause) => {
  target.script = script;
  const result = { up: false, cause, statusCode: null, responseTimeMs: expect.any(Number) };
  expect(await checkHttp(target.url, net)).toEqual(result);
});

test('a target that sends no response is down with a readable cause and without a response time', async () => {
  target.script = scripts.reset();
  expect(await checkHttp(target.url, net)).toEqual({
    up: false,
    cause: 'connection closed before the response was complete',
    statusCode: null,
  });
});

test('an address that is not allowed is down with the cause address_not_allowed', async () => {
  expect(await checkHttp(target.url, { allow: [] })).toEqual({ up: false, cause: 'address_not_allowed', statusCode: null });
});

test('an error of this machine is a local failure', async () => {
  const lookup = () => Promise.reject(Object.assign(new Error('injected'), { code: 'EMFILE' }));
  const result = await checkHttp('http://shop.example/', { ...net, lookup });
  expect(result).toBeInstanceOf(LocalFailure);
  expect(result).toMatchObject({ message: 'too many open files locally' });
});
