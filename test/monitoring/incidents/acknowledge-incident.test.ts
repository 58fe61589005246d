import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { changeBeforeUpdate, sendDuringTransaction } from '../../support/database.ts';
import { expectSameProblem } from '../../support/same-problem.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor } from '../factories.ts';
import { createIncident, resolveIncident } from './create-incident.ts';

let service: TestService;
let user: TestUser;
let monitorId: number;
let id: number;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  user = await service.createUser();
  monitorId = (await createMonitor(user)).id;
  id = await createIncident(service, user, { monitorId });
});
afterAll(() => service.stop());

const acknowledge = () => user.api.post(`/api/incidents/${id}/acknowledge`);
const inList = async () => (await user.api.get('/api/incidents')).body.data;
const resolvedProblem = [409, 'incident_resolved', 'A resolved incident cannot be acknowledged. No reminders are sent about it.'];

/** Moves the time of the acknowledgment into the past, so that a second one would differ. */
const acknowledgeEarlier = () =>
  service.database.asUser(user.id, (em) =>
    em.execute(`update incidents set acknowledged_at = app_now() - interval '10 minutes' where id = ?`, [id], 'run'),
  );

test('returns the incident with the time, and so do both lists', async () => {
  const [before] = await inList();
  expect(before.acknowledged_at).toBeNull();
  const start = Date.now();
  const { status, body } = await acknowledge();
  expect([status, body.data]).toEqual([200, { ...before, acknowledged_at: expect.any(String) }]);
  expect(Math.abs(Date.parse(body.data.acknowledged_at) - start)).toBeLessThan(60_000);
  expect(await inList()).toEqual([body.data]);
  expect((await user.api.get(`/api/monitors/${monitorId}/incidents`)).body.data).toEqual([body.data]);
});

test('a second call returns 200 with the time of the first', async () => {
  await acknowledgeEarlier();
  const [first] = await inList();
  const { status, body } = await acknowledge();
  expect([status, body.data]).toEqual([200, first]);
  expect(await inList()).toEqual([first]);
});

test('acknowledges only this incident', async () => {
  const otherId = await createIncident(service, user, { monitorId: (await createMonitor(user)).id });
  await acknowledge();
  const open = (await inList()).filter(({ acknowledged_at }: { acknowledged_at: string | null }) => acknowledged_at === null);
  expect(open).toEqual([expect.objectContaining({ id: otherId })]);
});

test('an incident that seems to start later, because the clock was moved back, is acknowledged when it started', async () => {
  id = await createIncident(service, user, { monitorId: (await createMonitor(user)).id, started: '-1 hour' });
  const { body } = await acknowledge();
  expect(body.data.acknowledged_at).toBe(body.data.started_at);
});

test('a resolved incident keeps the time at which it was acknowledged, and returns 409', async () => {
  const { body } = await acknowledge();
  await resolveIncident(service, id);
  const { status, body: problem } = await acknowledge();
  expect([status, problem.code, problem.detail]).toEqual(resolvedProblem);
  expect(await inList()).toEqual([expect.objectContaining({ status: 'resolved', acknowledged_at: body.data.acknowledged_at })]);
});

test('returns 409 for an incident that was resolved before, and leaves it as it is', async () => {
  await resolveIncident(service, id);
  const before = await inList();
  const { status, body } = await acknowledge();
  expect([status, body.code, body.detail]).toEqual(resolvedProblem);
  expect(await inList()).toEqual(before);
});

test('returns 409 for an incident that is resolved right before the write', async () => {
  changeBeforeUpdate(service.database, 'incidents', () => resolveIncident(service, id));
  const { status, body } = await acknowledge();
  expect([status, body.code]).toEqual(resolvedProblem.slice(0, 2));
  expect(await inList()).toEqual([expect.objectContaining({ status: 'resolved', acknowledged_at: null })]);
});

test.runIf(process.env.TEST_DATABASE_URL)('waits for a transaction that resolves the incident, and then returns 409', async () => {
  const resolve = `update incidents set resolved_at = app_now() where id = ?`;
  const { status, body } = await sendDuringTransaction(
    service.database,
    user.id,
    (em) => em.execute(resolve, [id], 'run'),
    () => acknowledge(),
  );
  expect([status, body.code]).toEqual(resolvedProblem.slice(0, 2));
  expect(await inList()).toEqual([expect.objectContaining({ status: 'resolved', acknowledged_at: null })]);
});

test.runIf(process.env.TEST_DATABASE_URL)('of two calls at the same time, both return the time of the first', async () => {
  const first = `update incidents set acknowledged_at = app_now() - interval '10 minutes' where id = ?`;
  const { status, body } = await sendDuringTransaction(
    service.database,
    user.id,
    (em) => em.execute(first, [id], 'run'),
    () => acknowledge(),
  );
  expect(status).toBe(200);
  expect(Date.now() - Date.parse(body.data.acknowledged_at)).toBeGreaterThan(9 * 60_000);
  expect(await inList()).toEqual([body.data]);
});

test('pausing the monitor resolves an acknowledged incident', async () => {
  const { body } = await acknowledge();
  await user.api.put(`/api/monitors/${monitorId}`, { json: { is_active: false } });
  expect(await inList()).toEqual([expect.objectContaining({ status: 'resolved', acknowledged_at: body.data.acknowledged_at })]);
});

test.each(['first', '0', '1.5', '9007199254740992'])('returns 422 for the id %s', async (invalid) => {
  expect((await user.api.post(`/api/incidents/${invalid}/acknowledge`)).status).toBe(422);
});

test('returns 401 without a key and 403 without the scope monitors:write', async () => {
  expect((await service.anonymous.post(`/api/incidents/${id}/acknowledge`)).status).toBe(401);
  const { status, body } = await (await user.withScopes('monitors:read')).post(`/api/incidents/${id}/acknowledge`);
  expect([status, body.detail]).toEqual([403, expect.stringContaining('"monitors:write"')]);
  expect(await inList()).toEqual([expect.objectContaining({ acknowledged_at: null })]);
});

test("returns 404 for another user's incident, as for an unknown id, and leaves it as it is", async () => {
  const other = await service.createUser();
  const foreign = await other.api.post(`/api/incidents/${id}/acknowledge`);
  expect([foreign.status, foreign.body.detail]).toEqual([404, `Incident ${id} was not found.`]);
  expectSameProblem(foreign, await other.api.post('/api/incidents/999999999/acknowledge'));
  expect(await inList()).toEqual([expect.objectContaining({ acknowledged_at: null })]);
});
