import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { sendDuringTransaction } from '../../support/database.ts';
import { expectSameProblem } from '../../support/same-problem.ts';
import { sampleAlert } from '../../support/sample-event.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { storedRows } from '../../support/stored-rows.ts';
import { createMonitor, createProvider } from '../factories.ts';

let service: TestService;
let user: TestUser;
let other: TestUser;

beforeAll(async () => {
  service = await startService({ maxMonitors: 2000 });
});
beforeEach(async () => {
  [user, other] = [await service.createUser(), await service.createUser()];
});
afterAll(() => service.stop());

const bulk = (json: object, { api } = user) => api.post('/api/monitors/bulk', { json });
const execute = (sql: string, params: unknown[], { id } = user) => service.database.asUser(id, (em) => em.execute(sql, params, 'run'));
const read = async (path: string) => {
  const { body, headers } = await user.api.get(path);
  return { data: body.data, etag: headers.get('ETag') };
};
const assignmentsOf = async (path: string) => (await user.api.get(`${path}/notifications`)).body.data;
const until = '2099-12-31T23:00:00.000Z';
const tags = ['group'];

/** Makes a monitor down, with an open incident and an alert that was not sent. */
async function takeDown(id: number, providerId: number) {
  await execute(`update monitors set status = 'down', failures = 3, last_error = 'HTTP 503' where id = ?`, [id]);
  await execute(`insert into incidents (user_id, monitor_id, started_at, cause) values (?, ?, now(), 'HTTP 503')`, [user.id, id]);
  await service.database.asEngine((em) =>
    em.execute(
      `insert into alerts (user_id, incident_id, provider_id, kind, payload)
       select user_id, id, ?, ${sampleAlert()} from incidents where monitor_id = ?`,
      [providerId, id],
      'run',
    ),
  );
}

/** Each action with its argument, a monitor that it changes and one that it does not. Both have the tag `group`. */
interface Case {
  action: string;
  argument?: (providerId: number) => object;
  before: object;
  already: object;
  after: object;
}
const cases: Case[] = [
  { action: 'pause', before: {}, already: { is_active: false }, after: { is_active: false, status: 'paused' } },
  { action: 'resume', before: { is_active: false }, already: {}, after: { is_active: true, status: 'pending' } },
  {
    action: 'start_maintenance',
    argument: () => ({ until }),
    before: {},
    already: { maintenance_until: until },
    after: { maintenance_until: until },
  },
  { action: 'end_maintenance', before: { maintenance_until: until }, already: {}, after: { maintenance_until: null } },
  {
    action: 'add_tags',
    argument: () => ({ tags: ['new', 'group'] }),
    before: {},
    already: { tags: ['new', 'group'] },
    after: { tags: ['group', 'new'] },
  },
  {
    action: 'remove_tags',
    argument: () => ({ tags: ['old', 'missing'] }),
    before: { tags: ['a', 'old', 'group'] },
    already: {},
    after: { tags: ['a', 'group'] },
  },
];

describe.each(['ids', 'tag'])('by %s', (by) => {
  const select = (monitors: { id: number }[]) => (by === 'ids' ? { ids: monitors.map(({ id }) => id) } : { tag: 'group' });

  test.each(cases)('$action changes those that are not yet as wanted, and repeated, nothing', async ({ action, ...given }) => {
    const changing = await createMonitor(user, { tags, ...given.before });
    const already = await createMonitor(user, { tags, ...given.already });
    const untouched = await createMonitor(user, given.before);
    if (by === 'tag') await execute(`update monitors set tags = '{}' where id = ?`, [untouched.id]);
    const kept = await read(untouched.path);
    const foreign = await createMonitor(other, { tags, ...given.before });
    const json = { ...select([changing, already]), action, ...given.argument?.(0) };
    const { status, body } = await bulk(json);
    expect([status, body]).toEqual([200, { data: { matched: 2, changed: 1 } }]);
    const after = await read(changing.path);
    expect(after.data).toEqual({ ...changing.data, ...given.after, updated_at: expect.any(String) });
    expect(after.etag).toMatch(`"monitor-${changing.id}-2.`);
    expect(await read(already.path)).toMatchObject({ data: already.data, etag: already.etag });
    expect(await read(untouched.path)).toEqual(kept);
    expect((await other.api.get(foreign.path)).body.data).toEqual(foreign.data);
    expect((await bulk(json)).body.data).toEqual({ matched: 2, changed: 0 });
    expect(await read(changing.path)).toEqual(after);
  });

  test('delete deletes them, and repeated finds nothing', async () => {
    const [one, two] = [await createMonitor(user, { tags }), await createMonitor(user, { tags })];
    const kept = await createMonitor(user);
    const foreign = await createMonitor(other, { tags });
    const json = { ...select([one, two]), action: 'delete' };
    expect((await bulk(json)).body.data).toEqual({ matched: 2, changed: 2 });
    for (const { path } of [one, two]) expect((await user.api.get(path)).status).toBe(404);
    expect((await bulk(json)).body.data).toEqual({ matched: 0, changed: 0 });
    expect([(await user.api.get(kept.path)).status, (await other.api.get(foreign.path)).status]).toEqual([200, 200]);
  });

  test('assign assigns a provider and enables it, and unassign removes it; repeated, they change nothing', async () => {
    const monitors = [await createMonitor(user, { tags }), await createMonitor(user, { tags }), await createMonitor(user, { tags })];
    const [{ id: provider_id }, another] = [await createProvider(user), await createProvider(user)];
    const [, disabled, enabled] = monitors;
    await user.api.post(`${disabled?.path}/notifications`, { json: { provider_id, enabled: false } });
    await user.api.post(`${enabled?.path}/notifications`, { json: { provider_id } });
    await user.api.post(`${enabled?.path}/notifications`, { json: { provider_id: another.id, enabled: false } });
    const assign = { ...select(monitors), action: 'assign', provider_id };
    expect((await bulk(assign)).body.data).toEqual({ matched: 3, changed: 2 });
    for (const { path } of monitors)
      expect(await assignmentsOf(path)).toContainEqual(expect.objectContaining({ provider_id, enabled: true }));
    expect(await assignmentsOf(`${enabled?.path}`)).toContainEqual(expect.objectContaining({ provider_id: another.id, enabled: false }));
    expect((await bulk(assign)).body.data).toEqual({ matched: 3, changed: 0 });
    const unassign = { ...assign, action: 'unassign' };
    expect((await bulk(unassign)).body.data).toEqual({ matched: 3, changed: 3 });
    expect(await assignmentsOf(`${enabled?.path}`)).toEqual([expect.objectContaining({ provider_id: another.id })]);
    expect((await bulk(unassign)).body.data).toEqual({ matched: 3, changed: 0 });
  });

  test.each([
    ['pause', {}],
    ['start_maintenance', { until }],
  ])('%s resolves open incidents and cancels their alerts', async (action, argument) => {
    const provider = await createProvider(user);
    const { id, path } = await createMonitor(user, { tags });
    const kept = await createMonitor(user);
    for (const monitor of [id, kept.id]) await takeDown(monitor, provider.id);
    expect((await bulk({ ...select([{ id }]), action, ...argument })).body.data.changed).toBe(1);
    const statusOf = async (of: string) => (await user.api.get(`${of}/incidents`)).body.data[0].status;
    expect([await statusOf(path), await statusOf(kept.path)]).toEqual(['resolved', 'open']);
    const alerts = await service.database.asUser(user.id, (em) =>
      em.execute('select i.monitor_id, a.status from alerts a join incidents i on i.id = a.incident_id order by 1'),
    );
    expect(alerts).toEqual([
      { monitor_id: id, status: 'suppressed' },
      { monitor_id: kept.id, status: 'queued' },
    ]);
  });
});

describe('a rejected request changes nothing', () => {
  /** Stands for the id of a monitor that exists. */
  const ids = ['existing'];
  const required = (pointer: string, message = 'is required') => ({ in: 'body', pointer, code: 'required', message });
  const notAllowed = (name: string, action: string) => ({
    in: 'body',
    pointer: `/${name}`,
    code: 'field_of_other_action',
    message: `is not allowed for ${action}`,
  });

  test.each<[object, object]>([
    [{ action: 'pause' }, required('/ids', 'is required, unless there is a tag')],
    [
      { ids, tag: 'a', action: 'pause' },
      { in: 'body', pointer: '/tag', code: 'contradiction', message: 'must be absent if there are ids' },
    ],
    [{ ids }, required('/action')],
    [{ ids, action: 'explode' }, expect.objectContaining({ pointer: '/action', code: 'enum' })],
    [{ ids, action: null }, expect.objectContaining({ pointer: '/action' })],
    [{ ids: [], action: 'pause' }, expect.objectContaining({ pointer: '/ids', code: 'min_items' })],
    [{ ids: null, action: 'pause' }, expect.objectContaining({ pointer: '/ids', code: 'type' })],
    [{ ids: [1, 1], action: 'pause' }, expect.objectContaining({ pointer: '/ids', code: 'repeated' })],
    [{ ids: ['1'], action: 'pause' }, expect.objectContaining({ pointer: '/ids/0', code: 'type' })],
    [{ ids: [0], action: 'pause' }, expect.objectContaining({ pointer: '/ids/0', code: 'minimum' })],
    [{ ids: [2 ** 53], action: 'pause' }, expect.objectContaining({ pointer: '/ids/0', code: 'maximum' })],
    [{ tag: '', action: 'pause' }, expect.objectContaining({ pointer: '/tag', code: 'pattern' })],
    [{ tag: null, action: 'pause' }, expect.objectContaining({ pointer: '/tag', code: 'type' })],
    [{ tag: 'A', action: 'pause' }, expect.objectContaining({ pointer: '/tag', code: 'pattern' })],
    [{ tag: 'x'.repeat(33), action: 'pause' }, expect.objectContaining({ pointer: '/tag', code: 'max_length' })],
    [{ ids, action: 'pause', colour: 1 }, expect.objectContaining({ pointer: '/colour', code: 'unknown_field' })],
    ...(
      [
        ['start_maintenance', 'until'],
        ['assign', 'provider_id'],
        ['unassign', 'provider_id'],
        ['add_tags', 'tags'],
        ['remove_tags', 'tags'],
      ] as const
    ).map(([action, name]): [object, object] => [{ ids, action }, required(`/${name}`, `is required for ${action}`)]),
    ...['pause', 'resume', 'delete', 'end_maintenance', 'assign', 'unassign', 'add_tags', 'remove_tags'].map((action): [object, object] => [
      { ids, action, until },
      notAllowed('until', action),
    ]),
    ...['pause', 'resume', 'delete', 'start_maintenance', 'end_maintenance', 'add_tags', 'remove_tags'].map((action): [object, object] => [
      { ids, action, provider_id: 1 },
      notAllowed('provider_id', action),
    ]),
    ...['pause', 'resume', 'delete', 'start_maintenance', 'end_maintenance', 'assign', 'unassign'].map((action): [object, object] => [
      { ids, action, tags: ['a'] },
      notAllowed('tags', action),
    ]),
    [{ ids, action: 'start_maintenance', until: null }, expect.objectContaining({ pointer: '/until', code: 'type' })],
    [{ ids, action: 'start_maintenance', until: 4_102_444_740_000 }, expect.objectContaining({ pointer: '/until', code: 'type' })],
    [{ ids, action: 'start_maintenance', until: 'soon' }, expect.objectContaining({ pointer: '/until' })],
    [
      { ids, action: 'start_maintenance', until: `2099-12-31T23:00:00.${'0'.repeat(20)}Z` },
      expect.objectContaining({ pointer: '/until', code: 'max_length' }),
    ],
    [
      { ids, action: 'start_maintenance', until: '0000-01-01T00:00:00Z' },
      expect.objectContaining({ pointer: '/until', code: 'invalid_time' }),
    ],
    ...['assign', 'unassign'].flatMap((action): [object, object][] => [
      [{ ids, action, provider_id: 0 }, expect.objectContaining({ pointer: '/provider_id', code: 'minimum' })],
      [{ ids, action, provider_id: null }, expect.objectContaining({ pointer: '/provider_id', code: 'type' })],
      [{ ids, action, provider_id: '1' }, expect.objectContaining({ pointer: '/provider_id', code: 'type' })],
    ]),
    ...['add_tags', 'remove_tags'].flatMap((action): [object, object][] => [
      [{ ids, action, tags: null }, expect.objectContaining({ pointer: '/tags', code: 'type' })],
      [{ ids, action, tags: [] }, expect.objectContaining({ pointer: '/tags', code: 'min_items' })],
      [{ ids, action, tags: [1] }, expect.objectContaining({ pointer: '/tags/0', code: 'type' })],
      [{ ids, action, tags: ['A'] }, expect.objectContaining({ pointer: '/tags/0', code: 'pattern' })],
      [{ ids, action, tags: ['b', 'b'] }, expect.objectContaining({ pointer: '/tags', code: 'repeated' })],
      [{ ids, action, tags: ['x'.repeat(33)] }, expect.objectContaining({ pointer: '/tags/0', code: 'max_length' })],
    ]),
    [
      { ids, action: 'add_tags', tags: Array.from({ length: 21 }, (_, n) => `t${n}`) },
      expect.objectContaining({ pointer: '/tags', code: 'max_items' }),
    ],
    [
      { ids, action: 'start_maintenance', until: '2020-01-01T00:00:00Z' },
      expect.objectContaining({ pointer: '/until', code: 'not_in_future' }),
    ],
  ])('%j', async (json, error) => {
    const { id, path, data, etag } = await createMonitor(user, { tags: ['a'] });
    const { status, body } = await bulk('ids' in json && json.ids === ids ? { ...json, ids: [id] } : json);
    expect(status).toBe(422);
    expect(body.errors).toContainEqual(error);
    expect(await read(path)).toEqual({ data, etag });
  });

  test('with more than 20 tags for one of the monitors', async () => {
    const nineteen = Array.from({ length: 19 }, (_, n) => `t${n}`);
    const monitors = [await createMonitor(user), await createMonitor(user, { tags: nineteen }), await createMonitor(user)];
    const ids = monitors.map(({ id }) => id);
    const { status, body } = await bulk({ ids, action: 'add_tags', tags: ['a', 'b'] });
    const message = `would give monitor ${ids[1]} more than 20 tags`;
    expect([status, body.errors]).toEqual([422, [{ in: 'body', pointer: '/tags', code: 'max_items', message }]]);
    for (const { path, data, etag } of monitors) expect(await read(path)).toEqual({ data, etag });
    expect((await bulk({ ids, action: 'add_tags', tags: ['a', 't1'] })).body.data).toEqual({ matched: 3, changed: 3 });
  });

  test.each(['assign', 'unassign'])("%s of another user's provider, as of an unknown one", async (action) => {
    const { id, path } = await createMonitor(user);
    const foreign = await createProvider(other);
    const before = await storedRows(service.database, [user.id, other.id]);
    const rejected = await bulk({ ids: [id], action, provider_id: foreign.id });
    expect([rejected.status, rejected.body.detail]).toEqual([404, `Provider ${foreign.id} was not found.`]);
    expectSameProblem(rejected, await bulk({ ids: [id], action, provider_id: 999_999_999 }));
    expectSameProblem(rejected, await bulk({ tag: 'unused', action, provider_id: 999_999_999 })); // No monitor matches.
    expect(await storedRows(service.database, [user.id, other.id])).toEqual(before);
    expect(await assignmentsOf(path)).toEqual([]);
  });

  test('without a key, or without the scope monitors:write', async () => {
    const { id, path, data } = await createMonitor(user);
    const json = { ids: [id], action: 'delete' };
    expect((await service.anonymous.post('/api/monitors/bulk', { json })).status).toBe(401);
    const { status, body } = await bulk(json, { ...user, api: await user.withScopes('monitors:read') });
    expect([status, body.detail]).toEqual([403, expect.stringContaining('"monitors:write"')]);
    expect((await read(path)).data).toEqual(data);
  });

  test.each([
    [{ tag: 'A', action: 'pause' }, ['/tag']],
    [{ tag: null, action: 'pause' }, ['/tag']],
    [{ ids: null, tag: 'a', action: 'pause' }, ['/ids', '/tag']],
    [[], ['']],
  ])('%j has errors only where it is wrong', async (json, pointers) => {
    const { status, body } = await user.api.post('/api/monitors/bulk', { json });
    expect([status, body.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted()]).toEqual([422, pointers]);
  });
});

test('start_maintenance extends a maintenance', async () => {
  const { id, path } = await createMonitor(user, { maintenance_until: '2098-01-01T00:00:00Z' });
  expect((await bulk({ ids: [id], action: 'start_maintenance', until })).body.data).toEqual({ matched: 1, changed: 1 });
  expect((await read(path)).data.maintenance_until).toBe(until);
});

test('end_maintenance does not change a monitor whose maintenance is over', async () => {
  const { id } = await createMonitor(user, { maintenance_until: '2020-01-01T00:00:00Z' });
  expect((await bulk({ ids: [id], action: 'end_maintenance' })).body.data).toEqual({ matched: 1, changed: 0 });
});

test("another user's monitors and unknown ones are not matched, and nothing of them changes", async () => {
  const own = await createMonitor(user);
  const foreign = await createMonitor(other);
  const provider = await createProvider(user);
  const before = await storedRows(service.database, [other.id]);
  const ids = [own.id, foreign.id, 999_999_999];
  for (const { action, ...argument } of [
    { action: 'pause' },
    { action: 'start_maintenance', until },
    { action: 'add_tags', tags: ['a'] },
    { action: 'assign', provider_id: provider.id },
    { action: 'unassign', provider_id: provider.id },
    { action: 'delete' },
  ])
    expect([action, (await bulk({ ids, action, ...argument })).body.data]).toEqual([action, { matched: 1, changed: 1 }]);
  expect(await storedRows(service.database, [other.id])).toEqual(before);
});

test('a tag that no monitor has matches nothing', async () => {
  await createMonitor(user, { tags: ['group'] });
  expect((await bulk({ tag: 'group-2', action: 'delete' })).body.data).toEqual({ matched: 0, changed: 0 });
});

test('1,000 ids are accepted, and 1,001 are not', async () => {
  await execute(
    `insert into monitors (user_id, friendly_name, url, type) select ?, 'M', 'https://example.com', 'http' from generate_series(1, 1000)`,
    [user.id],
  );
  const rows = await service.database.asUser(user.id, (em) => em.execute<{ id: number }[]>('select id from monitors order by id'));
  const ids = rows.map(({ id }) => Number(id));
  expect((await bulk({ ids, action: 'pause' })).body.data).toEqual({ matched: 1000, changed: 1000 });
  const { status, body } = await bulk({ ids: [...ids, 999_999_999], action: 'resume' });
  expect([status, body.errors]).toMatchObject([422, [{ pointer: '/ids', code: 'max_items' }]]);
  expect((await user.api.get('/api/monitors?status=paused')).body.meta.total).toBe(1000);
});

test('a new tag of a monitor that is down keeps its incident', async () => {
  const provider = await createProvider(user);
  const { id, path } = await createMonitor(user);
  await takeDown(id, provider.id);
  await bulk({ ids: [id], action: 'add_tags', tags: ['a'] });
  expect((await read(path)).data).toMatchObject({ status: 'down', last_error: 'HTTP 503', tags: ['a'] });
  expect((await user.api.get(`${path}/incidents`)).body.data[0].status).toBe('open');
});

describe('of 1,001 monitors', () => {
  const count = 1001;
  const createMany = (fields = `'{group}'::text[]`) =>
    execute(
      `insert into monitors (user_id, friendly_name, url, tags, is_active, status, next_check_at)
       select ?, 'M ' || n, 'https://a.example/', ${fields}, false, 'paused', null from generate_series(1, ${count}) n`,
      [user.id],
    );

  test.each([
    ['resume', {}],
    ['start_maintenance', { until }],
    ['add_tags', { tags: ['new'] }],
    ['remove_tags', { tags: ['group'] }],
    ['assign', { provider_id: 0 }],
    ['delete', {}],
  ])('%s changes all, 50 at a time, and other events get their turn in between', async (action, argument) => {
    await createMany();
    const { id: provider_id } = await createProvider(user);
    const { writes, restore } = recordWrites();
    onTestFinished(restore);
    const { body } = await bulk({ tag: 'group', action, ...argument, ...('provider_id' in argument && { provider_id }) });
    expect(body.data).toEqual({ matched: count, changed: count });
    const portions = writes.filter(({ ids }) => ids > 0);
    expect(Math.max(...portions.map(({ ids }) => ids))).toBeLessThanOrEqual(200);
    expect(
      portions
        .filter(({ text }) => /^update "monitors"|^with deleted as \(delete from monitors|^insert into notifications/.test(text))
        .map(({ ids }) => ids),
    ).toEqual([...Array(20).fill(50), 1]);
    expect(new Set(portions.map(({ turn }) => turn)).size).toBeGreaterThan(10);
  });

  test('a rejected one changes none, if only the last one has too many tags', async () => {
    await createMany(
      `'{group}'::text[] || case when n = ${count} then (select array_agg('t' || k) from generate_series(1, 19) k) else '{}' end`,
    );
    const { status, body } = await bulk({ tag: 'group', action: 'add_tags', tags: ['new'] });
    expect([status, body.errors]).toMatchObject([422, [{ pointer: '/tags', code: 'max_items' }]]);
    expect((await user.api.get('/api/monitors?tag=new')).body.meta.total).toBe(0);
    expect((await bulk({ tag: 'group', action: 'add_tags', tags: ['group'] })).body.data).toEqual({ matched: count, changed: 0 });
  });
});

/** Records how many ids each statement of a transaction has as a parameter, and in which turn of the event loop it is sent. */
function recordWrites() {
  const writes: { text: string; ids: number; turn: number }[] = [];
  let [turn, isOver] = [0, false];
  const countTurn = () => {
    turn++;
    if (!isOver) setImmediate(countTurn);
  };
  countTurn();
  const { database } = service;
  const { asUser } = database;
  database.asUser = (userId, work) =>
    asUser.call(database, userId, (em) => {
      const connection = em.getKysely();
      const recording = Object.create(connection, {
        executeQuery: {
          value(query: { sql: string; parameters: readonly unknown[] }) {
            const arrays = query.parameters.filter((value) => Array.isArray(value) && typeof value[0] === 'number') as number[][];
            if (!query.sql.startsWith('select')) writes.push({ text: query.sql, ids: arrays[0]?.length ?? 0, turn });
            return connection.executeQuery(query as never);
          },
        },
      });
      em.getKysely = () => recording;
      return work(em);
    }) as never;
  return {
    writes,
    restore() {
      isOver = true;
      database.asUser = asUser;
    },
  };
}

test('an outdated If-Match of a single update fails after a change of many', async () => {
  const { id, path, etag } = await createMonitor(user);
  await bulk({ ids: [id], action: 'add_tags', tags: ['a'] });
  expect((await user.api.put(path, { json: { interval: 90 }, headers: { 'If-Match': etag } })).status).toBe(412);
});

test('changes of many and of single monitors at the same time are all made', async () => {
  const monitors = [await createMonitor(user), await createMonitor(user), await createMonitor(user)];
  const ids = monitors.map(({ id }) => id);
  const responses = await Promise.all([
    bulk({ ids, action: 'add_tags', tags: ['a'] }),
    ...monitors.map(({ path }) => user.api.put(path, { json: { http: { method: 'POST' } } })),
    bulk({ ids: ids.toReversed(), action: 'start_maintenance', until }),
    ...monitors.map(({ path }) => user.api.put(path, { json: { interval: 90 } })),
    bulk({ ids, action: 'add_tags', tags: ['b'] }),
  ]);
  expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
  for (const { path } of monitors) {
    const { data } = await read(path);
    expect(data).toMatchObject({ interval: 90, maintenance_until: until, http: { method: 'POST' } });
    expect(data.tags.toSorted()).toEqual(['a', 'b']);
  }
});

// On the embedded database a request cannot wait for a transaction.
test.runIf(process.env.TEST_DATABASE_URL)('a provider that is deleted while it is assigned is not found', async () => {
  const { id } = await createMonitor(user);
  const provider = await createProvider(user);
  const { status, body } = await sendDuringTransaction(
    service.database,
    user.id,
    (em) => em.execute('delete from providers where id = ?', [provider.id], 'run'),
    () => bulk({ ids: [id], action: 'assign', provider_id: provider.id }),
  );
  expect([status, body.detail]).toEqual([404, `Provider ${provider.id} was not found.`]);
});
