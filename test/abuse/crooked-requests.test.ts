// Requests that were accepted, rejected or answered wrongly before.
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect } from 'vitest';
import { guarantee } from '../support/guarantee.ts';
import { expectRawProblem, rawExchange } from '../support/raw-http.ts';
import { startWebServer } from '../support/web-server.ts';
import { type AbusedService, startAbusedService } from './support/service.ts';

let service: AbusedService;

beforeAll(async () => {
  // The target of the monitor is on this machine.
  service = await startAbusedService({ users: 1, settings: { NET_ALLOW: '127.0.0.0/8' } });
});
afterAll(() => service?.remove());

guarantee(16, 'Requests at the edge of the contract get the response that the contract promises', async () => {
  const [user] = service.users;
  const api = service.as(user);
  const get = `GET /api/monitors HTTP/1.1\r\nAuthorization: Bearer ${user?.key}\r\nConnection: close\r\n`;

  const large = await rawExchange(service.url, `${get}Host: x\r\nX-Large: ${'x'.repeat(17 * 1024)}\r\n\r\n`);
  expectRawProblem(large, 431, 'headers_too_large', '17 KiB of headers');
  const declared = (await (await fetch(`${service.url}/openapi/monitoring.json`)).json()) as {
    paths: Record<string, { get?: { responses: object } }>;
  };
  expect(Object.keys(declared.paths['/monitors']?.get?.responses ?? {})).toContain('431');

  for (const host of ['Host: a\r\nHost: b', 'Host: a b', 'Host: a/b', 'Host: a@b', 'Host: ', 'Host: [::1', 'Host: a:b']) {
    expectRawProblem(await rawExchange(service.url, `${get}${host}\r\n\r\n`), 400, 'malformed_request', host);
  }
  for (const host of ['localhost', 'a.example:3000', '[::1]:3000', '127.0.0.1']) {
    expect((await rawExchange(service.url, `${get}Host: ${host}\r\n\r\n`)).status, host).toBe(200);
  }

  const halfClosed = connect({ port: Number(new URL(service.url).port), host: '127.0.0.1', allowHalfOpen: true });
  halfClosed.end(`${get}Host: x\r\n\r\n`);
  expect(await text(halfClosed)).toMatch(/^HTTP\/1\.1 200 /);

  const addresses = '2001:DB8::0\n2001:db8:0:0::\n10.1.2.3/8\n10.0.0.0/8\n192.0.2.7/32\n192.0.2.7';
  const created = await api.post('/api/v1/websites', { form: { domain: 'bücher.example', exclude_ips: addresses } });
  expect(created.body.data.exclude_ips).toBe('2001:db8::\n10.0.0.0/8\n192.0.2.7');
  for (const search of ['bücher', 'BÜCH', 'xn--bcher', 'bu\u0308cher']) {
    expect((await api.get(`/api/v1/websites?search=${encodeURIComponent(search)}`)).body.meta.total, search).toBe(1);
  }
  const website = `/api/v1/websites/${created.body.data.id}`;
  expect((await api.patch(website, { form: { favorite: 'True' } })).body.data.favorite).toBe(true);
  expect((await api.get('/api/v1/websites?favorite=False')).body.meta.total).toBe(0);

  const provider = await api.post('/api/providers', { json: { provider_type: 'email', recipient_email: 'a@example.com' } });
  const edited = { ...provider.body.data, recipient_email: 'b@example.com' };
  const sentBack = await api.put(`/api/providers/${provider.body.data.id}`, { json: edited });
  expect([sentBack.status, sentBack.body.data.recipient_email]).toEqual([200, 'b@example.com']);

  expect((await api.post('/api/monitors', { json: { friendly_name: ' ', url: 'http://example.com' } })).status).toBe(422);
  const failing = await startWebServer();
  failing.script = (_, response) => response.writeHead(500).end();
  const monitor = await api.post('/api/monitors', { json: { friendly_name: 'Failing', url: failing.url } });
  const checked = async () => (await api.get(`/api/monitors/${monitor.body.data.id}`)).body.data;
  await expect.poll(async () => (await checked()).last_error, { timeout: 30_000 }).toBe('HTTP 500');
  const { last_response_time_ms } = await checked();
  await failing.close();
  expect(last_response_time_ms).toEqual(expect.any(Number));
  return `9 defects, each tried over HTTP; a failing response took ${last_response_time_ms} ms`;
});
