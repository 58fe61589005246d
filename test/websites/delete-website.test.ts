import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ifMatch } from '../support/etags.ts';
import { expectSameProblem } from '../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

async function createWebsite(domain: string) {
  const { body } = await user.api.post('/api/v1/websites', { form: { domain } });
  return { id: body.data.id as number, path: `/api/v1/websites/${body.data.id}` };
}

describe('success', () => {
  test('returns 200; afterwards the website cannot be found and its domain is available again', async () => {
    const { id, path } = await createWebsite('deleted.example');
    const { status, body } = await user.api.delete(path);
    expect([status, body]).toEqual([200, { id, object: 'website', deleted: true }]);
    expect((await user.api.get(path)).status).toBe(404);
    expect((await user.api.get('/api/v1/domains/deleted.example')).status).toBe(404);
    expect((await user.api.get('/api/v1/websites?search=deleted')).body.meta.total).toBe(0);
    expect((await user.api.delete(path)).status).toBe(404);
    const recreated = await createWebsite('deleted.example');
    expect(recreated.id).toBeGreaterThan(id);
  });

  test('decreases the total of the list', async () => {
    const total = async () => (await user.api.get('/api/v1/websites')).body.meta.total;
    const before = await total();
    const { path } = await createWebsite('counted.example');
    expect(await total()).toBe(before + 1);
    await user.api.delete(path);
    expect(await total()).toBe(before);
  });

  test('of 20 concurrent requests one returns 200 and 19 return 404', async () => {
    const { path } = await createWebsite('once.example');
    const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await user.api.delete(path)).status));
    expect(statuses.toSorted()).toEqual([200, ...Array(19).fill(404)]);
  });

  test('ignores the request body', async () => {
    const { path } = await createWebsite('body.example');
    expect((await user.api.delete(path, { headers: { 'Content-Type': 'text/plain' }, raw: '%FF' })).status).toBe(200);
  });
});

describe('conditional writes', () => {
  const tag = (id: number, version: number) => ifMatch('website', id, version);

  test('returns 412 and keeps the website if If-Match lists no version of it that is current', async () => {
    const { id, path } = await createWebsite('kept.example');
    const others = [tag(id, 2), `W/${tag(id, 2)}`, `${tag(id, 0)}, ${tag(id, 7)}`, tag(id + 1, 1), ifMatch('monitor', id, 1)];
    for (const tags of [...others, '"1"', '1', tag(id, 1).slice(1, -1)]) {
      const { status, body } = await user.api.delete(path, { headers: { 'If-Match': tags } });
      expect([tags, status, body.code]).toEqual([tags, 412, 'precondition_failed']);
    }
    expect((await user.api.get(path)).status).toBe(200);
  });

  test('returns 200 if If-Match lists the current version, whatever the hash at its end is', async () => {
    const matching = [tag, (id: number) => `W/${tag(id, 1)}`, (id: number) => `${tag(id, 7)}, ${tag(id, 1)}`, () => '*'];
    for (const [index, tags] of matching.entries()) {
      const { id, path } = await createWebsite(`match-${index}.example`);
      expect([tags(id, 1), (await user.api.delete(path, { headers: { 'If-Match': tags(id, 1) } })).status]).toEqual([tags(id, 1), 200]);
    }
  });

  test('returns 412 if the website has changed since it was read', async () => {
    const { path } = await createWebsite('changed.example');
    const before = (await user.api.get(path)).headers.get('ETag') ?? '';
    const after = (await user.api.patch(path, { form: { favorite: '1' } })).headers.get('ETag') ?? '';
    expect((await user.api.delete(path, { headers: { 'If-Match': before } })).status).toBe(412);
    expect((await user.api.delete(path, { headers: { 'If-Match': after } })).status).toBe(200);
  });
});

describe('access', () => {
  test('returns 401 without a key and 403 without the scope websites:write', async () => {
    const { path } = await createWebsite('guarded.example');
    expect((await service.anonymous.delete(path)).status).toBe(401);
    const { status, body } = await (await user.withScopes('websites:read')).delete(path);
    expect([status, body.detail]).toEqual([403, expect.stringContaining('"websites:write"')]);
    expect((await user.api.get(path)).status).toBe(200);
  });

  test("returns 404 for another user's website, as for an unknown id, with any If-Match", async () => {
    const { id, path } = await createWebsite('foreign.example');
    const other = await service.createUser();
    for (const headers of [{}, { 'If-Match': '*' }, { 'If-Match': ifMatch('website', id, 1) }, { 'If-Match': ifMatch('website', id, 9) }]) {
      const foreign = await other.api.delete(path, { headers });
      expect([foreign.status, foreign.body.detail]).toEqual([404, `Website ${id} was not found.`]);
      expectSameProblem(foreign, await other.api.delete('/api/v1/websites/999999', { headers }));
    }
    expect((await user.api.get(path)).status).toBe(200);
  });
});

test.each(['abc', '0', '1.0'])('returns 422 for the id %s', async (id) => {
  const { status, body } = await user.api.delete(`/api/v1/websites/${id}`);
  expect([status, body.errors[0].name]).toEqual([422, 'id']);
});
