import { afterAll, beforeAll, expect, test } from 'vitest';
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

test('the page contains every recipe, with the URL of the service', async () => {
  const page = await (await fetch(`${service.url}/docs/recipes`)).text();
  for (const { id, title } of recipes) expect(page).toContain(`<section class="step" id="${id}">\n<h2>${title}</h2>`);
  expect(page).toContain(`curl ${service.url}/api/monitors \\`);
  expect(page).toContain(`${service.url}/api/heartbeats/YOUR-TOKEN/fail`.replace('/fail', ''));
});

test('the requests of the page that change monitors are accepted', async () => {
  const page = await (await fetch(`${service.url}/docs/recipes`)).text();
  const bodies = [...page.matchAll(/-d (?:&#39;|')(\{[^\n]*\})(?:&#39;|')/g)].map(([, body = '']) =>
    JSON.parse(body.replaceAll('&quot;', '"')),
  );
  expect(bodies).toHaveLength(2);
  const { body } = await user.api.post('/api/monitors', { json: recipes[0]?.monitor ?? {} });
  expect((await user.api.put(`/api/monitors/${body.data.id}`, { json: bodies[0] })).status).toBe(200);
  expect((await user.api.post('/api/monitors/bulk', { json: bodies[1] })).status).toBe(200);
});
