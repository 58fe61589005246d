// A monitor can belong to a website of the registry.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { expectSameProblem } from '../../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor, monitorExample } from '../factories.ts';

let service: TestService;
let user: TestUser;
let other: TestUser;

beforeAll(async () => {
  service = await startService({ maxMonitors: 5 });
});
beforeEach(async () => {
  [user, other] = [await service.createUser(), await service.createUser()];
});
afterAll(() => service.stop());

async function createWebsite({ api }: TestUser, domain = 'shop.example'): Promise<number> {
  return (await api.post('/api/v1/websites', { form: { domain } })).body.data.id;
}
const post = (website_id: unknown) => user.api.post('/api/monitors', { json: { ...monitorExample, website_id } });
const unknown = 999_999_999;

test('a monitor belongs to no website by default', async () => {
  expect((await createMonitor(user)).data.website_id).toBeNull();
});

test('a website of the user is stored on creation and by an update, and null removes it', async () => {
  const [first, second] = [await createWebsite(user), await createWebsite(user, 'other.example')];
  const { path, data } = await createMonitor(user, { website_id: first });
  expect(data.website_id).toBe(first);
  for (const website_id of [second, null, first]) {
    expect((await user.api.put(path, { json: { website_id } })).body.data.website_id).toBe(website_id);
    expect((await user.api.get(path)).body.data.website_id).toBe(website_id);
  }
  expect((await user.api.put(path, { json: { interval: 90 } })).body.data.website_id).toBe(first);
  expect((await createMonitor(user, { website_id: null })).data.website_id).toBeNull();
});

test("another user's website is not found on creation, as an unknown one, and nothing is created", async () => {
  const foreign = await createWebsite(other);
  const rejected = await post(foreign);
  expect([rejected.status, rejected.body.code, rejected.body.detail]).toEqual([404, 'not_found', `Website ${foreign} was not found.`]);
  expectSameProblem(rejected, await post(unknown));
  expectSameProblem(rejected, await post(Number.MAX_SAFE_INTEGER));
  expect((await user.api.get('/api/monitors')).body.meta.total).toBe(0);
});

test.each([{}, { url: 'https://other.example.org/' }, { http: { method: 'POST' } }, { confirmations: 1 }])(
  "another user's website is not found by an update with %j, as an unknown one, and nothing changes",
  async (fields) => {
    const foreign = await createWebsite(other);
    const { path, etag } = await createMonitor(user);
    const put = (website_id: number) => user.api.put(path, { json: { interval: 90, ...fields, website_id } });
    const rejected = await put(foreign);
    expect([rejected.status, rejected.body.detail]).toEqual([404, `Website ${foreign} was not found.`]);
    expectSameProblem(rejected, await put(unknown));
    expect((await user.api.get(path, { headers: { 'If-None-Match': etag } })).status).toBe(304);
  },
);

test('an unknown website is reported for a repeated request with an Idempotency-Key as well', async () => {
  const send = () =>
    user.api.post('/api/monitors', { json: { ...monitorExample, website_id: unknown }, headers: { 'Idempotency-Key': 'once' } });
  expect([(await send()).status, (await send()).status]).toEqual([404, 404]);
});

test('the monitor is looked for before the website', async () => {
  const { status, body } = await user.api.put(`/api/monitors/${unknown}`, { json: { website_id: unknown } });
  expect([status, body.detail]).toEqual([404, `Monitor ${unknown} was not found.`]);
});

test.each([
  [0, 'minimum'],
  [-1, 'minimum'],
  [2 ** 53, 'maximum'],
  [1.5, 'type'],
  ['1', 'type'],
  ['', 'type'],
  [[], 'type'],
])('rejects %j on creation and by an update, which changes nothing', async (website_id, code) => {
  const { path, data } = await createMonitor(user, { website_id: await createWebsite(user) });
  for (const { status, body } of [await post(website_id), await user.api.put(path, { json: { interval: 90, website_id } })]) {
    expect([status, body.errors]).toMatchObject([422, [{ pointer: '/website_id', code }]]);
  }
  expect((await user.api.get(path)).body.data).toEqual(data);
});

test('a change of the website keeps the status', async () => {
  const { id, path } = await createMonitor(user);
  await service.database.asUser(user.id, (em) => em.execute(`update monitors set status = 'up' where id = ?`, [id], 'run'));
  const website_id = await createWebsite(user);
  expect((await user.api.put(path, { json: { website_id } })).body.data).toMatchObject({ status: 'up', website_id });
});

test('deleting the website keeps the monitor, which then belongs to none, and its ETag changes', async () => {
  const website_id = await createWebsite(user);
  const { path, etag, data } = await createMonitor(user, { website_id });
  const kept = await createMonitor(user);
  expect((await user.api.delete(`/api/v1/websites/${website_id}`)).status).toBe(200);
  const { status, headers, body } = await user.api.get(path, { headers: { 'If-None-Match': etag } });
  expect([status, body.data]).toEqual([200, { ...data, website_id: null }]);
  expect(headers.get('ETag')).not.toBe(etag);
  expect((await user.api.get(kept.path, { headers: { 'If-None-Match': kept.etag } })).status).toBe(304);
});

test('a monitor that was read before its website was deleted cannot be sent back with it', async () => {
  const website_id = await createWebsite(user);
  const { path, data } = await createMonitor(user, { website_id });
  await user.api.delete(`/api/v1/websites/${website_id}`);
  const { status, body } = await user.api.put(path, { json: data });
  expect([status, body.detail]).toEqual([404, `Website ${website_id} was not found.`]);
  expect((await user.api.put(path, { json: { ...data, website_id: null } })).status).toBe(200);
});

test("the filter finds the monitors of a website, and nothing with another user's", async () => {
  const [own, foreign] = [await createWebsite(user), await createWebsite(other)];
  const { id } = await createMonitor(user, { website_id: own });
  await createMonitor(user);
  await createMonitor(other, { website_id: foreign });
  const find = async (website: number) =>
    (await user.api.get(`/api/monitors?website_id=${website}`)).body.data.map((monitor: { id: number }) => monitor.id);
  expect([await find(own), await find(foreign), await find(unknown)]).toEqual([[id], [], []]);
});
