import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkHttp } from '../../../src/monitoring/checks/http.ts';
import { LocalFailure } from '../../../src/monitoring/checks/local-failure.ts';
import { parseRanges } from '../../../src/net/addresses.ts';
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

test.each([304, 404, 503])('status %i is down with the status as cause', async (status) => {
  target.script = scripts.respond('', status);
  expect(await checkHttp(target.url, net)).toEqual({ up: false, cause: `HTTP ${status}`, statusCode: status });
});

test('the last response after redirects is decisive', async () => {
  target.script = ({ path }, response) =>
    path === '/end' ? response.writeHead(503).end() : response.writeHead(302, { location: '/end' }).end();
  expect(await checkHttp(target.url, net)).toEqual({ up: false, cause: 'HTTP 503', statusCode: 503 });
});

test('an error of the target is down with a readable cause', async () => {
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
