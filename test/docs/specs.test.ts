import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import monitoring from '../../generated/monitoring.json' with { type: 'json' };
import websites from '../../generated/websites.json' with { type: 'json' };
import { startService, type TestService } from '../support/service.ts';

let service: TestService;

beforeAll(async () => {
  const settings = { rateLimitPerMinute: 1, corsOrigins: ['https://app.example.com'] };
  service = await startService(settings, { publicUrl: 'https://keeper.example.net/inner' });
});
afterAll(() => service.stop());

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') => fetch(service.url + path, { method, headers });

const published = [
  { name: 'websites', bundle: websites, server: 'https://keeper.example.net/inner/api/v1' },
  { name: 'monitoring', bundle: monitoring, server: 'https://keeper.example.net/inner/api' },
];

test.each(published)('the spec of $name is the contract with the URL of this service as its server', async ({ name, bundle, server }) => {
  const response = await get(`/openapi/${name}.json`);
  expect(response.headers.get('content-type')).toBe('application/json');
  const document = (await response.json()) as typeof bundle;
  expect(document.servers.map(({ url }) => url)).toEqual([server]);
  expect(document.info.contact.url).toBe('https://keeper.example.net/inner/docs');
  expect({ ...document, servers: bundle.servers, info: bundle.info }).toEqual(bundle);
});

test.each(published)('the spec of $name in YAML equals the JSON one in YAML 1.1 and 1.2', async ({ name }) => {
  const response = await get(`/openapi/${name}.yaml`);
  expect(response.headers.get('content-type')).toBe('application/yaml');
  const text = await response.text();
  const document = await (await get(`/openapi/${name}.json`)).json();
  expect(parse(text, { version: '1.2' })).toEqual(document);
  expect(parse(text, { version: '1.1' })).toEqual(document);
});

test.each(['gzip', 'identity'])('has a strong ETag and returns 304 to clients that already have the spec (%s)', async (encoding) => {
  const first = await get('/openapi/websites.yaml', { 'Accept-Encoding': encoding });
  const etag = first.headers.get('etag') ?? '';
  expect(etag).toMatch(/^"[\w-]+"$/);
  expect(first.headers.get('content-encoding')).toBe(encoding === 'gzip' ? 'gzip' : null);
  expect(first.headers.get('cache-control')).toContain('max-age');
  const again = await get('/openapi/websites.yaml', { 'Accept-Encoding': encoding, 'If-None-Match': `"other", ${etag}` });
  expect([again.status, again.headers.get('etag'), await again.text()]).toEqual([304, etag, '']);
  const other = await get('/openapi/websites.yaml', { 'Accept-Encoding': encoding, 'If-None-Match': '"other"' });
  expect(other.status).toBe(200);
});

test('the compressed and the uncompressed spec have different ETags', async () => {
  const [compressed, uncompressed] = await Promise.all(
    ['gzip', 'identity'].map((encoding) => get('/openapi/websites.json', { 'Accept-Encoding': encoding })),
  );
  expect(compressed?.headers.get('etag')).not.toBe(uncompressed?.headers.get('etag'));
  expect(await compressed?.text()).toBe(await uncompressed?.text());
});

test('pages of any origin can read the specs, regardless of CORS_ORIGINS', async () => {
  const headers = { Origin: 'https://other.example.org' };
  expect((await get('/openapi/websites.json', headers)).headers.get('access-control-allow-origin')).toBe('*');
  expect((await get('/api/v1/websites', headers)).headers.get('access-control-allow-origin')).toBeNull();
  const requested = { ...headers, 'Access-Control-Request-Method': 'GET', 'Access-Control-Request-Headers': 'if-none-match' };
  const preflight = await get('/openapi/websites.json', requested, 'OPTIONS');
  expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
  expect(preflight.headers.get('access-control-allow-headers')).toBe('if-none-match');
});

test('specs require no key and do not count towards the rate limit', async () => {
  for (let times = 0; times < 5; times++) {
    const response = await get('/openapi/monitoring.json');
    expect([response.status, response.headers.get('ratelimit')]).toEqual([200, null]);
    await response.text();
  }
});

test('responds to HEAD like to GET without a body, to OPTIONS with Allow, and to other methods with 405', async () => {
  const uncompressed = { 'Accept-Encoding': 'identity' };
  const [full, head] = [await get('/openapi/websites.yaml', uncompressed), await get('/openapi/websites.yaml', uncompressed, 'HEAD')];
  expect(head.status).toBe(200);
  for (const name of ['etag', 'content-length', 'content-type']) expect(head.headers.get(name)).toBe(full.headers.get(name));
  expect(await head.text()).toBe('');
  const options = await get('/openapi/websites.yaml', {}, 'OPTIONS');
  expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
  const posted = await get('/openapi/websites.yaml', {}, 'POST');
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  expect(await posted.json()).toMatchObject({ code: 'method_not_allowed' });
});
