import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { recipes } from '../../src/docs/recipes.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

test.each(recipes)('the recipe of $title creates the monitor as it is written', async ({ monitor }) => {
  const { status, body } = await user.api.post('/api/monitors', { json: monitor });
  expect([status, body.errors]).toEqual([201, undefined]);
  const { http, ...others } = monitor as { http?: { headers?: unknown } };
  const { headers, ...options } = http ?? {};
  expect(body.data).toMatchObject({ ...others, ...(http && { http: options }) });
});

test.each(['A login page', 'A GraphQL endpoint', 'An API with a token', 'A certificate', 'A database port', 'A cron job', 'A backup job'])(
  'there is a recipe for: %s',
  async (title) => {
    const page = await (await fetch(`${service.url}/docs/recipes`)).text();
    expect(page).toContain(`<h2>${title}</h2>`);
  },
);

test('the token of the recipe of an API is stored as a secret, and returned masked', async () => {
  const { monitor } = recipes.find(({ id }) => id === 'api-with-token') ?? {};
  const { body } = await user.api.post('/api/monitors', { json: monitor ?? {} });
  expect(body.data.http.headers).toEqual([{ name: 'Authorization', value: '****6789', secret: true }]);
});

test('the page contains every recipe, with the URL of the service', async () => {
  const page = await (await fetch(`${service.url}/docs/recipes`)).text();
  for (const { id, title } of recipes) expect(page).toContain(`<section class="step" id="${id}">\n<h2>${title}</h2>`);
  expect(page).toContain(`curl ${service.url}/api/monitors \\`);
  expect(page).toContain(`${service.url}/api/heartbeats/YOUR-TOKEN/fail`.replace('/fail', ''));
});

test.each([
  ['succeeds', 0, '/api/heartbeats/YOUR-TOKEN'],
  ['fails', 1, '/api/heartbeats/YOUR-TOKEN/fail'],
])('the script of the backup job reports whether the backup %s', async (_, status, path) => {
  const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-recipe-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'pg_dump'), `#!/bin/sh\nexit ${status}\n`, { mode: 0o755 });
  await writeFile(join(folder, 'curl'), '#!/bin/sh\nfor last; do :; done\necho "$last"\n', { mode: 0o755 });
  const script = recipes.find(({ id }) => id === 'backup-job')?.script?.('https://example.com') ?? '';
  const { stdout } = spawnSync('/bin/sh', ['-c', script], { env: { PATH: folder }, encoding: 'utf8' });
  expect(stdout).toBe(`https://example.com${path}\n`);
});

test('the requests of the page that change monitors are accepted, and change monitors of the recipes', async () => {
  const page = await (await fetch(`${service.url}/docs/recipes`)).text();
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const samples = page.replaceAll('&#39;', "'").replaceAll('&quot;', '"').replaceAll("'$until'", until);
  const bodies = [...samples.matchAll(/-d '(\{[^\n]*\})'/g)].map(([, body = '']) => JSON.parse(body));
  expect(bodies).toHaveLength(2);
  const { api } = await service.createUser();
  for (const { monitor } of recipes) expect((await api.post('/api/monitors', { json: monitor })).status).toBe(201);
  const [first] = (await api.get('/api/monitors')).body.data;
  const changedMany = await api.post('/api/monitors/bulk', { json: bodies[1] });
  expect([changedMany.status, changedMany.body.data.changed > 0]).toEqual([200, true]);
  const changed = await api.put(`/api/monitors/${first.id}`, { json: bodies[0] });
  expect([changed.status, changed.body.data.maintenance_until]).toEqual([200, until]);
});
