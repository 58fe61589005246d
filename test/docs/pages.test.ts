import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ProblemCode, ProblemError } from '../../src/errors.ts';
import { type ProblemBody, problemBody, problems } from '../../src/http/problems.ts';
import { startService, type TestService } from '../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const get = (path: string, init: RequestInit = {}) => fetch(service.url + path, { redirect: 'manual', ...init });

/** Fetches every URL that the pages, style sheets and scripts of the docs link to, starting at the front page. */
async function crawl(): Promise<Map<string, { status: number; text: string; headers: Headers }>> {
  const seen = new Map<string, { status: number; text: string; headers: Headers }>();
  const queue = [`${service.url}/docs`];
  for (let url = queue.pop(); url; url = queue.pop()) {
    if (seen.has(url)) continue;
    const response = await fetch(url, { redirect: 'manual' });
    const text = await response.text();
    seen.set(url, { status: response.status, text, headers: response.headers });
    if (!response.headers.get('content-type')?.startsWith('text/html')) continue;
    for (const [, link = ''] of text.matchAll(/(?:href|src|data-spec)="([^"#]+)"/g)) queue.push(new URL(link, url).href);
  }
  return seen;
}

test('every link of every page works and stays on the same host', async () => {
  const seen = await crawl();
  expect([...seen].filter(([, { status }]) => status !== 200)).toEqual([]);
  expect([...seen.keys()].filter((url) => new URL(url).origin !== service.url)).toEqual([]);
  const paths = [...seen.keys()].map((url) => new URL(url).pathname);
  expect(paths).toEqual(
    expect.arrayContaining(['/docs/getting-started', '/docs/websites', '/docs/monitoring', '/openapi/monitoring.yaml']),
  );
  expect(paths.filter((path) => path.startsWith('/docs/problems/'))).toHaveLength(Object.keys(problems).length);
});

test('pages allow only files of the service and contain no inline script or style', async () => {
  for (const [url, { text, headers }] of await crawl()) {
    expect(headers.get('x-content-type-options'), url).toBe('nosniff');
    expect(headers.get('referrer-policy'), url).toBe('same-origin');
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy, url).toMatch(/^default-src 'none'; .*frame-ancestors 'none'$/);
    expect(policy, url).not.toContain('unsafe');
    expect(policy, url).not.toContain('http');
    if (headers.get('content-type')?.startsWith('text/html')) {
      expect(text, url).not.toMatch(/<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=/);
    }
  }
});

describe('problems', () => {
  const about = () => ({ publicUrl: service.url, instance: '/', requestId: 'x' });

  test.each(Object.keys(problems) as ProblemCode[])('the type of %s is the URL of a page that explains it', async (code) => {
    const response = await fetch(problemBody(new ProblemError(code, ''), about()).type);
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(text).toContain(`<code>${code}</code>`);
    expect(text).toMatch(/What to do<\/h2>\s*<ul>\s*<li>/);
  });

  test('the type in a response is the URL of such a page', async () => {
    const responses = [await get('/api/v1/websites'), await get('/unknown'), await get('/api/session', { method: 'POST' })];
    for (const response of responses) {
      const { type, title } = (await response.json()) as ProblemBody;
      const page = await fetch(type);
      expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      expect(await page.text()).toContain(`<h1>${title}</h1>`);
    }
  });

  test('returns 404 for a code that does not exist', async () => {
    const response = await get('/docs/problems/no_such_code');
    expect([response.status, response.headers.get('content-type')]).toEqual([404, 'application/problem+json']);
  });
});

test('redirects / to the docs', async () => {
  for (const path of ['/', '/docs/']) {
    const response = await get(path);
    expect(response.status).toBe(302);
    expect(new URL(response.headers.get('location') ?? '', service.url + path).pathname).toBe('/docs');
  }
});

test('returns 404 for paths that try to leave the assets folder', async () => {
  const paths = ['..%2f..%2fpackage.json', '%2e%2e/router.ts', '..%5crouter.ts', 'docs.css%00', 'docs.css/', '__proto__', ''];
  for (const path of paths) expect((await get(`/docs/assets/${path}`)).status, path).toBe(404);
});

test('files with a version in their path are cached for long, others are revalidated and return 304', async () => {
  const { headers } = await get('/docs/assets/docs.css');
  expect(headers.get('cache-control')).toBe('no-cache');
  expect((await get('/docs/assets/docs.css', { headers: { 'If-None-Match': headers.get('etag') ?? '' } })).status).toBe(304);
  const [, bundle = ''] = /src="([^"]+swagger-ui-bundle\.js)"/.exec(await (await get('/docs/websites')).text()) ?? [];
  expect(bundle).toMatch(/swagger-ui-\d+\.\d+\.\d+/);
  expect((await get(`/docs/${bundle}`)).headers.get('cache-control')).toContain('immutable');
});

test('the samples contain the public URL of the service, HTML-escaped', async () => {
  const other = await startService({}, { database: service.database, publicUrl: `https://keeper.example.net/'"><b>` });
  const text = await (await fetch(`${other.url}/docs/getting-started`)).text();
  expect(text).toContain('curl https://keeper.example.net/&#39;&quot;&gt;&lt;b&gt;/api/keys');
  expect(text).not.toContain('<b>');
  await other.stop();
});
