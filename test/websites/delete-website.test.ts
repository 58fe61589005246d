import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectSameProblem } from '../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
  user = await service.createUser();
});
afterAll(() => service.stop());

async function makeWebsite(domain: string) {
  const { body } = await user.api.post('/api/v1/websites', { form: { domain } });
  return { id: body.data.id as number, path: `/api/v1/websites/${body.data.id}` };
}

describe('Status codes', () => {
  test('200 with the result of the deletion; then it is gone everywhere and the domain is free', async () => {
    const { id, path } = await makeWebsite('gone.example');
    const { status, body } = await user.api.delete(path);
    expect([status, body]).toEqual([200, { id, object: 'website', deleted: true }]);
    expect((await user.api.get(path)).status).toBe(404);
    expect((await user.api.get('/api/v1/domains/gone.example')).status).toBe(404);
    expect((await user.api.get('/api/v1/websites?search=gone')).body.meta.total).toBe(0);
    expect((await user.api.delete(path)).status).toBe(404);
    const again = await makeWebsite('gone.example');
    expect(again.id).toBeGreaterThan(id);
  });

  test('the total of the list follows', async () => {
    const total = async () => (await user.api.get('/api/v1/websites')).body.meta.total;
    const before = await total();
    const { path } = await makeWebsite('counted.example');
    expect(await total()).toBe(before + 1);
    await user.api.delete(path);
    expect(await total()).toBe(before);
  });

  test('20 deletions at once: one is 200 and 19 are 404', async () => {
    const { path } = await makeWebsite('once.example');
    const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await user.api.delete(path)).status));
    expect(statuses.toSorted()).toEqual([200, ...Array(19).fill(404)]);
  });

  test('whatever is sent as a body is ignored', async () => {
    const { path } = await makeWebsite('body.example');
    expect((await user.api.delete(path, { headers: { 'Content-Type': 'text/plain' }, raw: '%FF' })).status).toBe(200);
  });
});

describe('Conditional writes', () => {
  test.each(['"2"', 'W/"2"', '"0", "7"', '1'])('412 for If-Match: %s, and it is still there', async (tags) => {
    const { path } = await makeWebsite(`kept-${Buffer.from(tags).toString('hex')}.example`);
    const { status, body } = await user.api.delete(path, { headers: { 'If-Match': tags } });
    expect([status, body.code]).toEqual([412, 'precondition_failed']);
    expect((await user.api.get(path)).status).toBe(200);
  });

  test.each(['"1"', 'W/"1"', '"7", "1"', '*'])('200 for If-Match: %s', async (tags) => {
    const { path } = await makeWebsite(`match-${Buffer.from(tags).toString('hex')}.example`);
    expect((await user.api.delete(path, { headers: { 'If-Match': tags } })).status).toBe(200);
  });

  test('412 where it was changed since it was read', async () => {
    const { path } = await makeWebsite('changed.example');
    await user.api.patch(path, { form: { favorite: '1' } });
    expect((await user.api.delete(path, { headers: { 'If-Match': '"1"' } })).status).toBe(412);
    expect((await user.api.delete(path, { headers: { 'If-Match': '"2"' } })).status).toBe(200);
  });
});

describe('Keys', () => {
  test('401 without a key, 403 without the scope websites:write', async () => {
    const { path } = await makeWebsite('guarded.example');
    expect((await service.stranger.delete(path)).status).toBe(401);
    const { status, body } = await (await user.withScopes('websites:read')).delete(path);
    expect([status, body.detail]).toEqual([403, expect.stringContaining('"websites:write"')]);
    expect((await user.api.get(path)).status).toBe(200);
  });

  test("404 for another user's website, the same as for an unknown id, whatever If-Match says", async () => {
    const { path } = await makeWebsite('foreign.example');
    const other = await service.createUser();
    for (const headers of [{}, { 'If-Match': '*' }, { 'If-Match': '"9"' }]) {
      const foreign = await other.api.delete(path, { headers });
      expect(foreign.status).toBe(404);
      expectSameProblem(foreign, await other.api.delete('/api/v1/websites/999999', { headers }));
    }
    expect((await user.api.get(path)).status).toBe(200);
  });
});

test.each(['abc', '0', '1.0'])('422 for the id %s', async (id) => {
  const { status, body } = await user.api.delete(`/api/v1/websites/${id}`);
  expect([status, body.errors[0].name]).toEqual([422, 'id']);
});
