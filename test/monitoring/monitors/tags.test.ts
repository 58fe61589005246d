import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { etag as etagOf } from '../../support/etags.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor, monitorExample } from '../factories.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
});
afterAll(() => service.stop());

const twenty = Array.from({ length: 20 }, (_, n) => `tag-${n}`);
const pattern = 'must have up to 32 lower-case letters, digits, hyphens or underscores, and start with a letter or a digit';

test('a monitor has no tags by default', async () => {
  expect((await createMonitor(user)).data.tags).toEqual([]);
});

test.each([[[]], [['b', 'a']], [['0', 'a_b-c', 'x'.repeat(32)]], [twenty]])('stores the tags %j in their order', async (tags) => {
  expect((await createMonitor(user, { tags })).data.tags).toEqual(tags);
  const { path } = await createMonitor(user, { tags: ['old'] });
  expect((await user.api.put(path, { json: { tags } })).body.data.tags).toEqual(tags);
  expect((await user.api.get(path)).body.data.tags).toEqual(tags);
});

const rejected: [unknown, string, string, string][] = [
  [null, '/tags', 'type', 'must be an array'],
  ['a', '/tags', 'type', 'must be an array'],
  [[...twenty, 'one-more'], '/tags', 'max_items', 'must have at most 20 items'],
  [['a', 'b', 'a'], '/tags', 'repeated', expect.stringContaining('must not contain duplicates') as never],
  [[1], '/tags/0', 'type', 'must be a string'],
  [[null], '/tags/0', 'type', 'must be a string'],
  ...['', 'A', '-a', '_a', 'a b', 'ä', 'a\n', 'a,b', '%'].map((tag): [unknown, string, string, string] => [
    ['ok', tag],
    '/tags/1',
    'pattern',
    pattern,
  ]),
];

test.each(rejected)('rejects the tags %j, and changes nothing', async (tags, pointer, code, message) => {
  const created = await user.api.post('/api/monitors', { json: { ...monitorExample, tags } });
  expect([created.status, created.body.errors]).toEqual([422, [{ in: 'body', pointer, code, message }]]);
  const { path, data } = await createMonitor(user, { tags: ['old'] });
  const { status, body } = await user.api.put(path, { json: { interval: 90, tags } });
  expect([status, body.errors]).toEqual([422, [{ in: 'body', pointer, code, message }]]);
  expect((await user.api.get('/api/monitors')).body.meta.total).toBe(1);
  expect((await user.api.get(path)).body.data).toEqual(data);
});

test('rejects a tag of 33 characters on creation and by an update, and changes nothing', async () => {
  const { path, data } = await createMonitor(user, { tags: ['old'] });
  const tags = ['x'.repeat(33)];
  const created = await user.api.post('/api/monitors', { json: { ...monitorExample, tags } });
  const updated = await user.api.put(path, { json: { interval: 90, tags } });
  for (const { status, body } of [created, updated]) {
    expect([status, body.errors[0]]).toMatchObject([422, { pointer: '/tags/0', code: 'max_length' }]);
  }
  expect((await user.api.get('/api/monitors')).body.meta.total).toBe(1);
  expect((await user.api.get(path)).body.data).toEqual(data);
});

test('an update replaces all tags, and creates a new version without a new state', async () => {
  const { id, path } = await createMonitor(user, { tags: ['a', 'b'] });
  const { headers, body } = await user.api.put(path, { json: { tags: ['c'] } });
  expect([body.data.tags, body.data.status]).toEqual([['c'], 'pending']);
  expect(headers.get('ETag')).toEqual(etagOf('monitor', id, '2.1'));
});

test('an empty list removes all tags, and an absent one keeps them', async () => {
  const { path } = await createMonitor(user, { tags: ['a'] });
  expect((await user.api.put(path, { json: { interval: 90 } })).body.data.tags).toEqual(['a']);
  expect((await user.api.put(path, { json: { tags: [] } })).body.data.tags).toEqual([]);
});

test('tags are returned in lists as well', async () => {
  await createMonitor(user, { tags: ['b', 'a'] });
  expect((await user.api.get('/api/monitors')).body.data[0].tags).toEqual(['b', 'a']);
});

test('two users can have the same tag, and each finds only their own monitors', async () => {
  const other = await service.createUser();
  const own = await createMonitor(user, { tags: ['production'] });
  const foreign = await createMonitor(other, { tags: ['production'] });
  for (const [{ api }, { id }] of [
    [user, own],
    [other, foreign],
  ] as const) {
    const { data } = (await api.get('/api/monitors?tag=production')).body;
    expect(data.map((monitor: { id: number }) => monitor.id)).toEqual([id]);
  }
});
