import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { checkNow } from '../../../src/monitoring/monitors/monitor.writes.ts';
import { changeBeforeUpdate, sendDuringTransaction } from '../../support/database.ts';
import { etag as etagOf, ifMatch } from '../../support/etags.ts';
import { expectSameProblem } from '../../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor, monitorTypes } from '../factories.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
});
afterAll(() => service.stop());

/** Writes what the engine would write. */
const execute = (sql: string, params: unknown[]) => service.database.asUser(user.id, (em) => em.execute(sql, params, 'run'));

async function stateVersion(id: number): Promise<number | undefined> {
  const [row] = await service.database.asUser(user.id, (em) =>
    em.execute<{ state_version: number }[]>('select state_version from monitors where id = ?', [id]),
  );
  return row?.state_version;
}

async function failuresOf(id: number): Promise<number | undefined> {
  const [row] = await service.database.asUser(user.id, (em) =>
    em.execute<{ failures: number }[]>('select failures from monitors where id = ?', [id]),
  );
  return row?.failures;
}

/** Makes a monitor down after three failures, with an open incident. */
async function takeDown(id: number): Promise<void> {
  await execute(`update monitors set status = 'down', failures = 3, last_error = 'HTTP 503' where id = ?`, [id]);
  await execute(`insert into incidents (user_id, monitor_id, started_at, cause) values (?, ?, now() - interval '1 minute', 'HTTP 503')`, [
    user.id,
    id,
  ]);
}

// On the embedded database a request cannot wait for a transaction.
test.runIf(process.env.TEST_DATABASE_URL).each([{ url: 'https://other.example.org/' }, { is_active: false }])(
  'resolves an incident that the engine opens while the update %j waits for it',
  async (json) => {
    const { id, path } = await createMonitor(user);
    const { status } = await sendDuringTransaction(
      service.database,
      user.id,
      async (em) => {
        await em.execute(`update monitors set status = 'down' where id = ?`, [id], 'run');
        await em.execute(
          `insert into incidents (user_id, monitor_id, started_at, cause) values (?, ?, now(), 'HTTP 503')`,
          [user.id, id],
          'run',
        );
      },
      () => user.api.put(path, { json }),
    );
    expect(status).toBe(200);
    const { body } = await user.api.get(`${path}/incidents`);
    expect(body.data.map((incident: { status: string }) => incident.status)).toEqual(['resolved']);
  },
);

test('concurrent changes of the target all succeed', async () => {
  const { path } = await createMonitor(user);
  const urls = Array.from({ length: 20 }, (_, n) => `https://site-${n}.example.org/`);
  const responses = await Promise.all(urls.map((url) => user.api.put(path, { json: { url } })));
  expect(responses.map(({ status }) => status)).toEqual(urls.map(() => 200));
  expect(urls).toContain((await user.api.get(path)).body.data.url);
});

describe('fields', () => {
  test.each([
    ['friendly_name', 'Renamed'],
    ['url', 'https://other.example.org/'],
    ['type', 'ping'],
    ['interval', 90],
    ['is_active', false],
  ])('changes %s and keeps the absent fields', async (field, value) => {
    const { id, path, data } = await createMonitor(user, { interval: 120 });
    if (field === 'type') delete data.http; // Its options belong to the old type.
    const { status, headers, body } = await user.api.put(path, { json: { [field]: value } });
    const state = await stateVersion(id);
    expect([status, headers.get('ETag')]).toEqual([200, etagOf('monitor', id, `2.${state}`)]);
    const changed = { status: field === 'is_active' ? 'paused' : 'pending', updated_at: expect.any(String) };
    expect(body.data).toEqual({ ...data, [field]: value, ...changed });
    expect((await user.api.get(path)).body).toEqual(body);
  });

  test('an empty object changes nothing', async () => {
    const { path, etag, data } = await createMonitor(user);
    const { status, headers, body } = await user.api.put(path, { json: {} });
    expect([status, headers.get('ETag'), body.data]).toEqual([200, etag, data]);
  });

  test.each([
    [{ friendly_name: null }, 'must be a string'],
    [{ friendly_name: '' }, 'must have at least 1 character'],
    [{ friendly_name: ' \u3000' }, 'must contain a character other than spaces, and no control characters'],
    [{ url: null }, 'is required'],
    [{ url: '' }, 'must have at least 1 character'],
    [{ type: null }, `must be one of ${monitorTypes.join(', ')}`],
    [{ type: '' }, `must be one of ${monitorTypes.join(', ')}`],
    [{ interval: null }, 'must be an integer'],
    [{ interval: '' }, 'must be an integer'],
    [{ is_active: null }, 'must be true or false'],
    [{ is_active: '' }, 'must be true or false'],
    [{ colour: 'red' }, 'is not a known field'],
    [{ id: 'first' }, 'must be an integer'],
    [{ id: null }, 'must be an integer'],
    [{ status: 'sideways' }, 'must be one of pending, up, down, paused'],
    [{ status: null }, 'must be one of pending, up, down, paused'],
    [{ last_checked_at: 'yesterday' }, 'must be a date and time such as 2099-12-31T00:00:00Z'],
    [{ last_response_time_ms: -1 }, 'must be at least 0'],
    [{ last_error: 503 }, 'must be a string'],
    [{ created_at: null }, 'must be a date and time such as 2099-12-31T00:00:00Z'],
    [{ updated_at: 0 }, 'must be a date and time such as 2099-12-31T00:00:00Z'],
  ])('returns 422 for %j and changes nothing', async (json, message) => {
    const { path, data } = await createMonitor(user);
    const { status, body } = await user.api.put(path, { json: { interval: 90, ...json } });
    expect(status).toBe(422);
    expect(body.errors).toContainEqual(expect.objectContaining({ pointer: `/${Object.keys(json)[0]}`, message }));
    expect((await user.api.get(path)).body.data).toEqual(data);
  });

  test('a monitor that was read can be edited and sent back whole; its read-only fields are ignored', async () => {
    const { id, path } = await createMonitor(user);
    await execute(
      `update monitors set status = 'down', last_checked_at = now(), last_response_time_ms = 17, last_error = 'HTTP 503' where id = ?`,
      [id],
    );
    const { data } = (await user.api.get(path)).body;
    expect(data).toMatchObject({ id, status: 'down', last_response_time_ms: 17, last_error: 'HTTP 503' });
    const { status, body } = await user.api.put(path, { json: { ...data, interval: 90 } });
    expect([status, body.data]).toEqual([200, { ...data, interval: 90, updated_at: expect.any(String) }]);
    expect((await user.api.get(path)).body).toEqual(body);
  });

  test('read-only fields with other values are ignored, and alone they change nothing', async () => {
    const { path, etag, data } = await createMonitor(user);
    const readOnly = {
      id: 999,
      status: 'up',
      last_checked_at: '2020-01-01T00:00:00Z',
      last_response_time_ms: 5,
      last_error: 'none',
      created_at: '2020-01-01T00:00:00Z',
      updated_at: '2020-01-01T00:00:00Z',
    };
    const alone = await user.api.put(path, { json: readOnly });
    expect([alone.status, alone.headers.get('ETag'), alone.body.data]).toEqual([200, etag, data]);
    const { status, body } = await user.api.put(path, { json: { ...readOnly, interval: 90 } });
    expect([status, body.data]).toEqual([200, { ...data, interval: 90, updated_at: expect.any(String) }]);
    expect(body.data.updated_at > readOnly.updated_at).toBe(true);
  });

  test('the url must be valid for the type in the request or, if that is absent, for the stored type', async () => {
    const { path } = await createMonitor(user);
    const { status, body } = await user.api.put(path, { json: { url: 'example.com' } });
    expect([status, body.errors]).toEqual([
      422,
      [{ in: 'body', pointer: '/url', code: 'invalid_target', message: 'must be an http or https URL' }],
    ]);
    expect((await user.api.put(path, { json: { url: 'example.com', type: 'ping' } })).status).toBe(200);
    expect((await user.api.put(path, { json: { type: 'http' } })).status).toBe(422);
  });

  test('returns 422 for an IP address that is not allowed', async () => {
    const { path } = await createMonitor(user);
    const { status, body } = await user.api.put(path, { json: { url: 'http://127.0.0.1/' } });
    expect([status, body.errors[0].code]).toEqual([422, 'address_not_allowed']);
  });
});

describe('state', () => {
  test.each([
    ['pausing', { is_active: false }, 'paused'],
    ['a new url', { url: 'https://other.example.org/' }, 'pending'],
    ['a new type', { type: 'ping' }, 'pending'],
  ])('%s resolves the open incident and resets the status and the failures', async (_, json, status) => {
    const { id, path } = await createMonitor(user);
    await takeDown(id);
    expect((await user.api.put(path, { json })).body.data).toMatchObject({ status, last_error: null });
    expect(await failuresOf(id)).toBe(0);
    expect((await user.api.get(`${path}/incidents`)).body.data).toEqual([
      expect.objectContaining({ status: 'resolved', duration_seconds: expect.toSatisfy((s: number) => s >= 60 && s < 180) }),
    ]);
  });

  test('a new name keeps the open incident and the failures of a monitor that is down', async () => {
    const { id, path } = await createMonitor(user);
    await takeDown(id);
    const { body } = await user.api.put(path, { json: { friendly_name: 'Renamed' } });
    expect(body.data).toMatchObject({ friendly_name: 'Renamed', status: 'down', last_error: 'HTTP 503' });
    expect(await failuresOf(id)).toBe(3);
    const incidents = (await user.api.get(`${path}/incidents`)).body.data;
    expect(incidents.map((incident: { status: string }) => incident.status)).toEqual(['open']);
  });

  test('pausing cancels the next check, resuming schedules one, and a new URL changes the host that checks count for', async () => {
    const { path } = await createMonitor(user);
    const read = async () =>
      (
        await service.database.asUser(user.id, (em) =>
          em.execute('select target_host as host, next_check_at is not null as scheduled from monitors'),
        )
      )[0];
    expect(await read()).toEqual({ host: 'shop.example.org', scheduled: true });
    await user.api.put(path, { json: { is_active: false } });
    expect(await read()).toEqual({ host: 'shop.example.org', scheduled: false });
    await user.api.put(path, { json: { is_active: true, url: 'https://other.example/' } });
    expect(await read()).toEqual({ host: 'other.example', scheduled: true });
  });

  test.each([
    ['removes', 'a new url', { url: 'https://shop.example.org/other' }, null],
    ['removes', 'a new type', { type: 'ping' }, null],
    ['keeps', 'another expectation', { http: { expected_status: ['204'] } }, 97],
    ['keeps', 'pausing', { is_active: false }, 97],
  ])('%s the time of the last check and its response time: %s', async (_, __, json, responseTime) => {
    const { id, path } = await createMonitor(user);
    await execute(`update monitors set status = 'up', last_checked_at = now(), last_response_time_ms = 97 where id = ?`, [id]);
    const { data } = (await user.api.put(path, { json })).body;
    expect(data.last_response_time_ms).toBe(responseTime);
    expect(data.last_checked_at).toEqual(responseTime === null ? null : expect.any(String));
  });

  test('resuming makes the monitor pending', async () => {
    const { path } = await createMonitor(user, { is_active: false });
    expect((await user.api.put(path, { json: { is_active: true } })).body.data.status).toBe('pending');
  });

  test('a longer interval causes a check within 5 seconds, although the next one was due later', async () => {
    const { id, path } = await createMonitor(user, { interval: 30 });
    await execute(`update monitors set next_check_at = app_now() + interval '20 seconds' where id = ?`, [id]);
    expect((await user.api.put(path, { json: { interval: 86_400 } })).status).toBe(200);
    const rows = await service.database.asUser(user.id, (em) =>
      em.execute<{ seconds: number }[]>('select extract(epoch from next_check_at - updated_at)::float8 as seconds from monitors'),
    );
    expect(rows).toEqual([{ seconds: expect.any(Number) }]);
    expect(rows[0]?.seconds).toBeLessThan(5);
  });

  test('a new name or interval keeps the status', async () => {
    const { id, path } = await createMonitor(user);
    await execute(`update monitors set status = 'up' where id = ?`, [id]);
    expect((await user.api.put(path, { json: { friendly_name: 'x', interval: 45, is_active: true } })).body.data.status).toBe('up');
  });
});

describe('conditional writes', () => {
  test('validates a url again if the type changes between its validation and the write', async () => {
    const { id, path } = await createMonitor(user, { type: 'ping', url: 'router.example.org' });
    changeBeforeUpdate(service.database, 'monitors', () =>
      execute(`update monitors set type = 'http', url = 'https://shop.example.org/', version = version + 1 where id = ?`, [id]),
    );
    const { status, body } = await user.api.put(path, { json: { url: 'other.example.org' } });
    expect([status, body.errors[0].pointer]).toEqual([422, '/url']);
    expect((await user.api.get(path)).body.data).toMatchObject({ type: 'http', url: 'https://shop.example.org/' });
  });

  test.each([
    ['another option', `settings = '{"body": "ping"}'`, { http: { body: 'ping' } }],
    ['the url', `url = 'https://other.example/'`, { url: 'https://other.example/' }],
  ])('keeps %s, if it changes between the read and the write of an option', async (_, change, kept) => {
    const { id, path } = await createMonitor(user);
    changeBeforeUpdate(service.database, 'monitors', () =>
      execute(`update monitors set ${change}, version = version + 1 where id = ?`, [id]),
    );
    expect((await user.api.put(path, { json: { http: { method: 'POST' } } })).status).toBe(200);
    const { data } = (await user.api.get(path)).body;
    expect(data).toMatchObject(kept);
    expect(data.http.method).toBe('POST');
  });

  test('schedules no check of a monitor that was paused in the meantime', async () => {
    const { id } = await createMonitor(user, { is_active: false });
    expect(await service.database.query(user.id)(checkNow({ id }))).toEqual([[]]);
  });

  test('a check since the read does not cause 412, another update does', async () => {
    const { id, path, etag } = await createMonitor(user);
    await execute('update monitors set state_version = state_version + 5 where id = ?', [id]);
    expect((await user.api.put(path, { json: { interval: 90 }, headers: { 'If-Match': etag } })).status).toBe(200);
    const { status, body } = await user.api.put(path, { json: { interval: 100 }, headers: { 'If-Match': etag } });
    expect([status, body.code]).toEqual([412, 'precondition_failed']);
    expect((await user.api.get(path)).body.data.interval).toBe(90);
  });

  test('If-Match compares the kind, the id and the version of the settings, but neither the state nor the hash', async () => {
    const { id, path } = await createMonitor(user);
    const send = (tags: string) => user.api.put(path, { json: {}, headers: { 'If-Match': tags } });
    const tag = (version: string, monitor = id) => ifMatch('monitor', monitor, version);
    for (const tags of [tag('1.1'), tag('1.99'), `W/${tag('1.1')}`, `${tag('7.1')}, ${tag('1.5')}`, '*']) {
      expect([tags, (await send(tags)).status]).toEqual([tags, 200]);
    }
    for (const tags of [tag('2.1'), tag('11.1'), tag('1.1', id + 1), ifMatch('website', id, '1.1'), '"1.1"', '"1"', '1.1']) {
      expect([tags, (await send(tags)).status]).toEqual([tags, 412]);
    }
  });
});

describe('access', () => {
  const json = { interval: 90 };

  test('returns 401 without a key and 403 without the scope monitors:write', async () => {
    const { path, data } = await createMonitor(user);
    expect((await service.anonymous.put(path, { json })).status).toBe(401);
    const { status, body } = await (await user.withScopes('monitors:read')).put(path, { json });
    expect([status, body.detail]).toEqual([403, expect.stringContaining('"monitors:write"')]);
    expect((await user.api.get(path)).body.data).toEqual(data);
  });

  test("returns 404 for another user's monitor, as for an unknown id", async () => {
    const { id, path, data } = await createMonitor(user);
    const other = await service.createUser();
    const foreign = await other.api.put(path, { json });
    expect([foreign.status, foreign.body.detail]).toEqual([404, `Monitor ${id} was not found.`]);
    expectSameProblem(foreign, await other.api.put('/api/monitors/999999999', { json }));
    expect((await user.api.get(path)).body.data).toEqual(data);
  });
});
