// The types of monitors: what belongs to each, and what remains when it changes.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor } from '../factories.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
});
afterAll(() => service.stop());

const post = (json: object) => user.api.post('/api/monitors', { json: { friendly_name: 'M', ...json } });
const execute = (sql: string, params: unknown[]) => service.database.asUser(user.id, (em) => em.execute(sql, params, 'run'));

const examples = {
  http: { url: 'https://shop.example.org/', http: { method: 'POST' } },
  ping: { url: 'shop.example.org' },
  tcp: { url: 'tcp://shop.example.org:5432' },
  heartbeat: { heartbeat: { grace_seconds: 5 } },
};
type Type = keyof typeof examples;
const types = Object.keys(examples) as Type[];
const pairs = types.flatMap((from) => types.filter((to) => to !== from).map((to) => [from, to] as const));
const httpDefaults = expect.objectContaining({ method: 'GET', headers: [], body: null, expected_status: ['2xx'] });
/** What a monitor of each type shows without options. */
const shown: Record<Type, object> = {
  http: { http: httpDefaults },
  ping: {},
  tcp: {},
  heartbeat: { heartbeat: { grace_seconds: 60 }, heartbeat_url: expect.stringMatching(/\/api\/heartbeats\/[0-9A-Za-z]{32}$/) },
};
const ofTypes = ['http', 'heartbeat', 'heartbeat_url'];
const optionsOf = (data: Record<string, unknown>) => Object.fromEntries(Object.entries(data).filter(([name]) => ofTypes.includes(name)));

describe('tcp', () => {
  test.each([
    'tcp://db.example.org:5432',
    'TCP://DB.example.org:1',
    'tcp://8.8.8.8:65535',
    'tcp://[2606:4700::1111]:53',
    'tcp://bücher.example:80/',
  ])('accepts %s and returns it unchanged', async (url) => {
    const { status, body } = await post({ type: 'tcp', url });
    expect([status, body.data.url, body.data.confirmations, optionsOf(body.data)]).toEqual([201, url, 2, {}]);
  });

  const form = 'must be tcp://, a host, a colon and a port, such as tcp://db.example.org:5432';
  const notPublic = 'must be a public address, not a private, local or reserved one';
  test.each([
    ['db.example.org:5432', 'invalid_target', form],
    ['https://db.example.org:5432', 'invalid_target', form],
    ['tcp://db.example.org', 'invalid_target', form],
    ['tcp://db.example.org:', 'invalid_target', form],
    ['tcp://:5432', 'invalid_target', form],
    ['tcp://db.example.org:0', 'invalid_target', form],
    ['tcp://db.example.org:65536', 'invalid_target', form],
    ['tcp://db.example.org:5432/path', 'invalid_target', form],
    ['tcp://db.example.org:5432?a', 'invalid_target', form],
    ['tcp://me:secret@db.example.org:5432', 'invalid_target', form],
    ['tcp://2606:4700::1111:53', 'invalid_target', form],
    ['tcp://127.0.0.1:5432', 'address_not_allowed', notPublic],
    ['tcp://2130706433:5432', 'address_not_allowed', notPublic],
    ['tcp://[::1]:5432', 'address_not_allowed', notPublic],
    ['tcp://[::ffff:10.0.0.1]:5432', 'address_not_allowed', notPublic],
    ['tcp://localhost:5432', 'address_not_allowed', notPublic],
  ])('rejects %s', async (url, code, message) => {
    const { status, body } = await post({ type: 'tcp', url });
    expect([status, body.errors]).toEqual([422, [{ in: 'body', pointer: '/url', code, message }]]);
  });

  test('the summary of a check names the host, the port and the timeout', async () => {
    const { path } = await createMonitor(user, { type: 'tcp', url: 'tcp://db.example.org:5432', timeout_seconds: 3 });
    const { body } = await user.api.post(`${path}/check`);
    expect(body.check.summary).toBe('Open a TCP connection to db.example.org:5432 within 3 s.');
  });
});

describe('heartbeat', () => {
  test('has no URL, no confirmations, a grace period and a URL for its job', async () => {
    const { status, body } = await post({ type: 'heartbeat' });
    expect(status).toBe(201);
    expect(body.data).toMatchObject({ url: null, confirmations: 0, interval: 60, status: 'pending', ...shown.heartbeat });
    expect((await user.api.get(`/api/monitors/${body.data.id}`)).body).toEqual(body);
  });

  test('can be created with null as its URL, as its message says', async () => {
    expect((await post({ type: 'heartbeat', url: null })).status).toBe(201);
  });

  test.each([0, 86_400])('accepts a grace period of %s seconds', async (grace_seconds) => {
    const { body } = await post({ type: 'heartbeat', confirmations: 0, heartbeat: { grace_seconds } });
    expect(body.data.heartbeat).toEqual({ grace_seconds });
  });

  test.each([
    [{ url: 'https://shop.example.org/' }, '/url', 'invalid_target', 'must be absent or null for type heartbeat'],
    [{ confirmations: 1 }, '/confirmations', 'field_of_other_type', 'must be 0 or absent for type heartbeat'],
    [{ heartbeat: null }, '/heartbeat', 'type', 'must be an object'],
    [{ heartbeat: { grace_seconds: null } }, '/heartbeat/grace_seconds', 'type', 'must be an integer'],
    [{ heartbeat: { grace_seconds: -1 } }, '/heartbeat/grace_seconds', 'minimum', 'must be at least 0'],
    [{ heartbeat: { grace_seconds: 86_401 } }, '/heartbeat/grace_seconds', 'maximum', 'must be at most 86400'],
    [{ heartbeat: { grace_seconds: 0.5 } }, '/heartbeat/grace_seconds', 'type', 'must be an integer'],
    [{ heartbeat: { token: 'mine' } }, '/heartbeat/token', 'unknown_field', 'is not a known field'],
  ])('rejects %j on creation and by an update', async (fields, pointer, code, message) => {
    const created = await post({ type: 'heartbeat', ...fields });
    expect([created.status, created.body.errors]).toEqual([422, [{ in: 'body', pointer, code, message }]]);
    const { path, data } = await createMonitor(user, { type: 'heartbeat', url: undefined });
    const { status, body } = await user.api.put(path, { json: { interval: 90, ...fields } });
    expect([status, body.errors]).toEqual([422, [{ in: 'body', pointer, code, message }]]);
    expect((await user.api.get(path)).body.data).toEqual(data);
  });

  test('its URL cannot be chosen, and is ignored by an update', async () => {
    const heartbeat_url = 'https://example.org/api/heartbeats/mine';
    expect((await post({ type: 'heartbeat', heartbeat_url })).body.errors[0]).toMatchObject({ pointer: '/heartbeat_url' });
    const { path, data } = await createMonitor(user, { type: 'heartbeat', url: undefined });
    const { body } = await user.api.put(path, { json: { heartbeat_url, interval: 90 } });
    expect(body.data.heartbeat_url).toBe(data.heartbeat_url);
  });

  test('sent back whole, it keeps its status and its URL', async () => {
    const { id, path } = await createMonitor(user, { type: 'heartbeat', url: undefined });
    await execute(`update monitors set status = 'up' where id = ?`, [id]);
    const { data } = (await user.api.get(path)).body;
    const { status, body } = await user.api.put(path, { json: data });
    expect([status, body.data]).toEqual([200, { ...data, updated_at: expect.any(String) }]);
  });

  test('empty options keep the grace period', async () => {
    const { path } = await createMonitor(user, { type: 'heartbeat', url: undefined, heartbeat: { grace_seconds: 300 } });
    const { body } = await user.api.put(path, { json: { heartbeat: {} } });
    expect(body.data.heartbeat).toEqual({ grace_seconds: 300 });
  });

  test('another grace period keeps its URL and its status', async () => {
    const { id, path, data } = await createMonitor(user, { type: 'heartbeat', url: undefined });
    await execute(`update monitors set status = 'up' where id = ?`, [id]);
    const { body } = await user.api.put(path, { json: { heartbeat: { grace_seconds: 5 } } });
    expect(body.data).toMatchObject({ status: 'up', heartbeat: { grace_seconds: 5 }, heartbeat_url: data.heartbeat_url });
  });
});

describe('options of another type', () => {
  const options = { http: {}, heartbeat: {} };
  const wrong = types.flatMap((type) =>
    (['http', 'heartbeat'] as const).filter((other) => other !== type).map((other) => [type, other] as const),
  );

  test.each(wrong)('type %s rejects %s on creation and by an update', async (type, other) => {
    const errors = [{ in: 'body', pointer: `/${other}`, code: 'field_of_other_type', message: `is only allowed for type ${other}` }];
    const created = await post({ type, ...examples[type], [other]: options[other] });
    expect([created.status, created.body.errors]).toEqual([422, errors]);
    const { body } = await post({ type, ...examples[type] });
    const path = `/api/monitors/${body.data.id}`;
    for (const fields of [{}, { type }]) {
      const updated = await user.api.put(path, { json: { interval: 90, ...fields, [other]: options[other] } });
      expect([updated.status, updated.body.errors]).toEqual([422, errors]);
    }
    expect((await user.api.get(path)).body).toEqual(body);
  });

  test.each(['http', 'ping', 'tcp'] as const)('type %s requires a URL', async (type) => {
    const required = [{ in: 'body', pointer: '/url', code: 'required', message: 'is required' }];
    const created = await post({ type });
    expect([created.status, created.body.errors]).toEqual([422, required]);
    const { body } = await post({ type, ...examples[type] });
    const path = `/api/monitors/${body.data.id}`;
    const updated = await user.api.put(path, { json: { url: null } });
    expect([updated.status, updated.body.errors]).toEqual([422, required]);
    expect((await user.api.get(path)).body).toEqual(body);
  });

  test.each(['http', 'ping', 'tcp'] as const)('null as the URL of a new type %s is one error', async (type) => {
    const from = type === 'tcp' ? 'http' : 'tcp';
    const { body } = await post({ type: from, ...examples[from] });
    const updated = await user.api.put(`/api/monitors/${body.data.id}`, { json: { type, url: null } });
    expect([updated.status, updated.body.errors]).toMatchObject([422, [{ pointer: '/url', code: 'required' }]]);
  });
});

describe('a change of the type', () => {
  test.each(pairs)('from %s to %s drops the old options and resets the status', async (from, to) => {
    const { body } = await post({ type: from, ...examples[from], interval: 300, tags: ['a'] });
    const { id } = body.data;
    await execute(`update monitors set status = 'down', last_error = 'x', failures = 3 where id = ?`, [id]);
    await execute(`insert into incidents (user_id, monitor_id, started_at, cause) values (?, ?, now(), 'x')`, [user.id, id]);
    const url = 'url' in examples[to] ? examples[to].url : null;
    const { status, body: changed } = await user.api.put(`/api/monitors/${id}`, { json: { type: to, url } });
    expect(status).toBe(200);
    expect(changed.data).toMatchObject({ type: to, url, interval: 300, tags: ['a'], status: 'pending', last_error: null });
    expect(changed.data.confirmations).toBe(to === 'heartbeat' ? 0 : 2);
    expect(optionsOf(changed.data)).toEqual(shown[to]);
    expect((await user.api.get(`/api/monitors/${id}/incidents`)).body.data[0].status).toBe('resolved');
    const { url: _, ...options } = { url, ...examples[from] };
    const back = await user.api.put(`/api/monitors/${id}`, { json: { type: from, url: body.data.url, ...options } });
    expect([back.status, back.body.data.url]).toEqual([200, body.data.url]);
  });

  test.each(pairs)('from %s to %s accepts the options of the new type', async (from, to) => {
    const { body } = await post({ type: from, ...examples[from] });
    const json = { type: to, ...(to === 'heartbeat' ? { url: null } : {}), ...examples[to] };
    const changed = await user.api.put(`/api/monitors/${body.data.id}`, { json });
    expect([changed.status, changed.body.data]).toMatchObject([200, examples[to]]);
  });

  test.each(types.filter((type) => type !== 'heartbeat'))('from %s to heartbeat needs no URL', async (from) => {
    const { body } = await post({ type: from, ...examples[from] });
    const changed = await user.api.put(`/api/monitors/${body.data.id}`, { json: { type: 'heartbeat' } });
    expect([changed.status, changed.body.data.url]).toEqual([200, null]);
  });

  test.each(types.filter((type) => type !== 'heartbeat'))('from heartbeat to %s needs a URL, and changes nothing without', async (to) => {
    const { body } = await post({ type: 'heartbeat' });
    const path = `/api/monitors/${body.data.id}`;
    const changed = await user.api.put(path, { json: { type: to } });
    expect([changed.status, changed.body.errors]).toMatchObject([422, [{ pointer: '/url', code: 'required' }]]);
    expect((await user.api.get(path)).body).toEqual(body);
  });

  test('from http to heartbeat: the incident of a job that fails has no status code', async () => {
    const { id, path } = await createMonitor(user);
    const failed = `failures = 1, first_failed_at = now(), first_cause = 'HTTP 503', first_status_code = 503`;
    await execute(`update monitors set ${failed} where id = ?`, [id]);
    const { body } = await user.api.put(path, { json: { type: 'heartbeat' } });
    expect((await fetch(`${body.data.heartbeat_url}/fail`, { method: 'POST' })).status).toBe(200);
    const incidents = (await user.api.get(`${path}/incidents`)).body.data;
    expect(incidents).toMatchObject([{ cause: 'the job reported a failure', status_code: null }]);
  });

  test('to heartbeat with confirmations is rejected', async () => {
    const { path } = await createMonitor(user);
    const { status, body } = await user.api.put(path, { json: { type: 'heartbeat', url: null, confirmations: 2 } });
    expect([status, body.errors]).toMatchObject([422, [{ pointer: '/confirmations', code: 'field_of_other_type' }]]);
  });

  test('between types that ask a target keeps the confirmations', async () => {
    const { path } = await createMonitor(user, { confirmations: 5 });
    expect((await user.api.put(path, { json: { type: 'ping' } })).body.data.confirmations).toBe(5);
  });

  test('from heartbeat accepts confirmations', async () => {
    const { path } = await createMonitor(user, { type: 'heartbeat', url: undefined });
    const json = { type: 'http', url: 'https://shop.example.org/', confirmations: 4 };
    expect((await user.api.put(path, { json })).body.data.confirmations).toBe(4);
  });

  test('from heartbeat invalidates the URL of the job, and back creates another', async () => {
    const { path, data } = await createMonitor(user, { type: 'heartbeat', url: undefined });
    const sendTo = async (url: unknown) => (await fetch(String(url), { method: 'POST' })).status;
    expect(await sendTo(data.heartbeat_url)).toBe(200);
    await user.api.put(path, { json: { type: 'http', url: 'https://shop.example.org/' } });
    expect(await sendTo(data.heartbeat_url)).toBe(404);
    const { body } = await user.api.put(path, { json: { type: 'heartbeat', url: null } });
    expect(body.data.heartbeat_url).not.toBe(data.heartbeat_url);
    expect([await sendTo(data.heartbeat_url), await sendTo(body.data.heartbeat_url)]).toEqual([404, 200]);
  });
});

describe('fields of every type', () => {
  test.each([
    ['timeout_seconds', 1, 30, 10],
    ['confirmations', 0, 5, 2],
  ])('%s is from %i to %i, and %i by default', async (field, lowest, highest, byDefault) => {
    const { path, data } = await createMonitor(user);
    expect(data[field]).toBe(byDefault);
    for (const value of [lowest, highest]) {
      expect((await createMonitor(user, { [field]: value })).data[field]).toBe(value);
      expect((await user.api.put(path, { json: { [field]: value } })).body.data[field]).toBe(value);
    }
    for (const value of [lowest - 1, highest + 1, null, `${lowest}`, '', lowest + 0.5]) {
      const responses = [
        await post({ ...examples.ping, type: 'ping', [field]: value }),
        await user.api.put(path, { json: { [field]: value } }),
      ];
      for (const { status, body } of responses) expect([value, status, body.errors?.[0].pointer]).toEqual([value, 422, `/${field}`]);
    }
    expect((await user.api.get(path)).body.data[field]).toBe(highest);
  });

  test.each([
    ['2099-12-31T23:00:00Z', '2099-12-31T23:00:00.000Z'],
    ['2099-12-31T23:00:00.123456+02:00', '2099-12-31T21:00:00.123Z'],
    ['2001-01-01T00:00:00Z', '2001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    [null, null],
  ])('maintenance_until %s is stored', async (maintenance_until, stored) => {
    expect((await createMonitor(user, { maintenance_until })).data.maintenance_until).toBe(stored);
    const { path } = await createMonitor(user, { maintenance_until: '2098-01-01T00:00:00Z' });
    expect((await user.api.put(path, { json: { maintenance_until } })).body.data.maintenance_until).toBe(stored);
    expect((await user.api.put(path, { json: { interval: 90 } })).body.data.maintenance_until).toBe(stored);
  });

  test.each(['', 'tomorrow', '2099-12-31', '2099-02-30T00:00:00Z', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59-01:00', 5, true])(
    'maintenance_until %j is rejected',
    async (maintenance_until) => {
      const { path, data } = await createMonitor(user);
      const responses = [
        await post({ ...examples.ping, type: 'ping', maintenance_until }),
        await user.api.put(path, { json: { interval: 90, maintenance_until } }),
      ];
      for (const { status, body } of responses) expect([status, body.errors?.[0].pointer]).toEqual([422, '/maintenance_until']);
      expect((await user.api.get(path)).body.data).toEqual(data);
    },
  );
});
