// A newer version may have stored types that this one does not know: during an upgrade, or before a rollback.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { queryInTransaction } from '../../src/db/statement.ts';
import { updateMonitor } from '../../src/monitoring/monitors/monitor.writes.ts';
import { wakeDispatcher } from '../../src/monitoring/wake.ts';
import { parseRanges } from '../../src/net/addresses.ts';
import type { ApiResponse } from '../support/api-client.ts';
import { sampleAlert } from '../support/sample-event.ts';
import { startService, type TestService, type TestUser } from '../support/service.ts';
import { sql } from '../support/statement.ts';
import { wakeAll } from '../support/wake.ts';
import { startWebServer, type WebServer } from '../support/web-server.ts';

let service: TestService;
let user: TestUser;
let target: WebServer;
let [monitorId, providerId] = [0, 0];
let key: string;

beforeAll(async () => {
  target = await startWebServer();
  service = await startService({}, { engine: true, net: { allow: parseRanges(['127.0.0.1']) } });
  user = await service.createUser();
  const created = await user.api.post('/api/keys', { json: { name: 'Reader', scopes: ['monitors:read', 'providers:read'] } });
  key = created.body.data.key;
  const query = service.database.query(user.id);
  const [[monitor], [provider]] = await query(
    sql<{ id: number }>(
      `insert into monitors (user_id, friendly_name, url, type) values ($1, 'New', 'pigeon://loft', 'pigeon') returning id`,
      [user.id],
    ),
    sql<{ id: number }>(
      `insert into providers (user_id, provider_type, settings) values ($1, 'pigeon', '{"loft": {"encrypted": "v1.x.y", "mask": "****loft"}}') returning id`,
      [user.id],
    ),
  );
  [monitorId, providerId] = [monitor?.id ?? 0, provider?.id ?? 0];
});
afterAll(async () => {
  await service.stop();
  await target.close();
});

/** Reads without checking the response: the contract does not have the type. */
async function read(path: string) {
  const response = await fetch(service.url + path, { headers: { Authorization: `Bearer ${key}` } });
  return { status: response.status, body: (await response.json()) as ApiResponse['body'] };
}

async function makeAllDue() {
  await service.database.asEngine((em) => em.execute('update monitors set next_check_at = now()', [], 'run'));
  await wakeAll(service.database);
}

test('a monitor of an unknown type is not checked, says why, and does not affect others', async () => {
  const { body } = await user.api.post('/api/monitors', { json: { friendly_name: 'Known', url: target.url } });
  await makeAllDue();
  await expect.poll(async () => (await user.api.get(`/api/monitors/${body.data.id}`)).body.data.status, { timeout: 15_000 }).toBe('up');
  const unknown = () => read(`/api/monitors/${monitorId}`);
  const reason = 'not checked: this version of the service does not know the type pigeon';
  await expect.poll(async () => (await unknown()).body.data.last_error, { timeout: 15_000 }).toBe(reason);
  expect((await unknown()).body.data).toMatchObject({ type: 'pigeon', status: 'pending' });
  expect((await read('/api/monitors')).body.meta.total).toBe(2);
});

test('a provider of an unknown type is listed without its settings, and cannot be tested or updated', async () => {
  const list = await read('/api/providers');
  expect([list.status, list.body.data]).toEqual([
    200,
    [
      {
        id: providerId,
        provider_type: 'pigeon',
        name: null,
        last_delivery_error: null,
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
    ],
  ]);
  const tested = await user.api.post(`/api/providers/${providerId}/test`);
  expect([tested.status, tested.body.detail]).toEqual([502, 'This version of the service does not know the provider type pigeon.']);
  const updated = await user.api.put(`/api/providers/${providerId}`, { json: { recipient_email: 'a@example.com' } });
  expect([updated.status, updated.body.errors[0].code]).toEqual([422, 'field_of_other_type']);
});

test('an alert to a provider of an unknown type stays pending', async () => {
  const alert = sql(
    `with incident as (insert into incidents (user_id, monitor_id, started_at, cause) values ($1, $2, now(), 'HTTP 503') returning id)
     insert into alerts (user_id, incident_id, provider_id, kind, payload) select $1, id, $3, ${sampleAlert()} from incident`,
    [user.id, monitorId, providerId],
  );
  await service.database.asEngine((em) => queryInTransaction(em)(alert, wakeDispatcher({})));
  const alerts = async () =>
    (await service.database.query(user.id)(sql<object>(`select status, last_error from alerts where kind = 'monitor.down'`)))[0];
  const reason = 'This version of the service does not know the provider type pigeon.';
  await expect.poll(alerts, { timeout: 15_000 }).toEqual([{ status: expect.any(String), last_error: reason }]);
  expect(await alerts()).toEqual([{ status: 'queued', last_error: reason }]);
});

test('a new url of a monitor of an unknown type returns 422 and changes nothing', async () => {
  const updated = await user.api.put(`/api/monitors/${monitorId}`, { json: { url: 'https://example.org/' } });
  const message = 'cannot be changed: this version of the service does not know the type pigeon';
  expect([updated.status, updated.body.errors]).toEqual([422, [{ in: 'body', pointer: '/url', code: 'invalid_target', message }]]);
  const { data } = (await read(`/api/monitors/${monitorId}`)).body;
  expect(data).toMatchObject({ type: 'pigeon', url: 'pigeon://loft', updated_at: data.created_at });
});

test('changing the settings of a type resets the monitor, as changing its target does', async () => {
  const { body } = await user.api.post('/api/monitors', { json: { friendly_name: 'Settings', url: target.url, interval: 3600 } });
  const { id } = body.data;
  await makeAllDue();
  await expect.poll(async () => (await user.api.get(`/api/monitors/${id}`)).body.data.status, { timeout: 15_000 }).toBe('up');
  const query = service.database.query(user.id);
  const [[same]] = await query(updateMonitor({ id, versions: undefined, settings: '{}' }));
  expect(same).toMatchObject({ status: 'up', version: 2 });
  const [[changed]] = await query(updateMonitor({ id, versions: undefined, settings: '{"timeout": 3}' }));
  expect(changed).toMatchObject({ status: 'pending', settings: { timeout: 3 }, version: 3 });
});
