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

test.each(published)('the spec of $name is the contract, with this service as its server', async ({ name, bundle, server }) => {
  const response = await get(`/openapi/${name}.json`);
  expect(response.headers.get('content-type')).toBe('application/json');
  const document = (await response.json()) as typeof bundle;
  expect(document.servers.map(({ url }) => url)).toEqual([server]);
  expect(document.info.contact.url).toBe('https://keeper.example.net/inner/docs');
  expect({ ...document, servers: bundle.servers, info: bundle.info }).toEqual(bundle);
});

test.each(published)('the spec of $name in YAML says the same, whichever version of YAML the reader speaks', async ({ name }) => {
  const response = await get(`/openapi/${name}.yaml`);
  expect(response.headers.get('content-type')).toBe('application/yaml');
  const text = await response.text();
  const document = await (await get(`/openapi/${name}.json`)).json();
  expect(parse(text, { version: '1.2' })).toEqual(document);
  expect(parse(text, { version: '1.1' })).toEqual(document);
});

test.each(['gzip', 'identity'])('a strong ETag, and 304 to those who have it already (%s)', async (encoding) => {
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

test('the zipped and the plain spec have different ETags', async () => {
  const [zipped, plain] = await Promise.all(
    ['gzip', 'identity'].map((encoding) => get('/openapi/websites.json', { 'Accept-Encoding': encoding })),
  );
  expect(zipped?.headers.get('etag')).not.toBe(plain?.headers.get('etag'));
  expect(await zipped?.text()).toBe(await plain?.text());
});

test('pages of any origin may read the specs, whatever CORS_ORIGINS says of the APIs', async () => {
  const headers = { Origin: 'https://elsewhere.example.org' };
  expect((await get('/openapi/websites.json', headers)).headers.get('access-control-allow-origin')).toBe('*');
  expect((await get('/api/v1/websites', headers)).headers.get('access-control-allow-origin')).toBeNull();
  const asked = { ...headers, 'Access-Control-Request-Method': 'GET', 'Access-Control-Request-Headers': 'if-none-match' };
  const preflight = await get('/openapi/websites.json', asked, 'OPTIONS');
  expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
  expect(preflight.headers.get('access-control-allow-headers')).toBe('if-none-match');
});

test('specs need no key and are not counted', async () => {
  for (let times = 0; times < 5; times++) {
    const response = await get('/openapi/monitoring.json');
    expect([response.status, response.headers.get('ratelimit')]).toEqual([200, null]);
    await response.text();
  }
});

test('HEAD is answered like GET without a body, OPTIONS with Allow, other methods with 405', async () => {
  const plain = { 'Accept-Encoding': 'identity' };
  const [whole, head] = [await get('/openapi/websites.yaml', plain), await get('/openapi/websites.yaml', plain, 'HEAD')];
  expect(head.status).toBe(200);
  for (const name of ['etag', 'content-length', 'content-type']) expect(head.headers.get(name)).toBe(whole.headers.get(name));
  expect(await head.text()).toBe('');
  const options = await get('/openapi/websites.yaml', {}, 'OPTIONS');
  expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
  const posted = await get('/openapi/websites.yaml', {}, 'POST');
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  expect(await posted.json()).toMatchObject({ code: 'method_not_allowed' });
});
