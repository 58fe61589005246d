// Which monitors are asked whether anything replies.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { findComparedMonitors } from '../../../src/monitoring/engine/compared-monitors.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createHeartbeat } from '../heartbeats/heartbeat-monitors.ts';

let service: TestService;
let user: TestUser;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  await service.database.asEngine((em) => em.execute('update monitors set next_check_at = null', [], 'run'));
  user = await service.createUser();
});
afterAll(() => service.stop());

/** Creates monitors of consecutive hosts. The first is due first. */
function create(owner: TestUser, name: string, count: number, { status = 'up', dueInSeconds = 60, hosts = count } = {}) {
  return service.database.asUser(owner.id, (em) =>
    em.execute(
      `insert into monitors (user_id, friendly_name, url, target_host, status, last_checked_at, next_check_at)
       select ?, 'M', 'http://' || host || '/', host, ?, app_now(), app_now() + (? + i / 1000.0) * interval '1 second'
       from generate_series(0, ?) i, lateral (select ? || i % ? || '.example') named (host)`,
      [owner.id, status, dueInSeconds, count - 1, name, hosts],
      'run',
    ),
  );
}

async function findHosts(host = 'own.example'): Promise<string[]> {
  const found = await service.database.engineTransaction((query) => findComparedMonitors(query, { userId: user.id, host }));
  return found.map((monitor) => monitor.host).sort();
}

test('monitors of other hosts that are up are found, with what a check needs', async () => {
  await create(user, 'own', 1);
  const found = await service.database.engineTransaction((query) =>
    findComparedMonitors(query, { userId: user.id, host: 'other.example' }),
  );
  expect(found).toEqual([{ type: 'http', host: 'own0.example', url: 'http://own0.example/' }]);
  expect(await findHosts('own0.example')).toEqual([]);
});

test.each(['down', 'pending'])('a monitor that is %s is not asked', async (status) => {
  await create(user, status, 3, { status });
  expect(await findHosts()).toEqual([]);
});

test('a paused monitor is not asked', async () => {
  await create(user, 'paused', 3);
  await service.database.asUser(user.id, (em) => em.execute('update monitors set next_check_at = null', [], 'run'));
  expect(await findHosts()).toEqual([]);
});

test('a heartbeat monitor is not asked', async () => {
  const { receiver } = await createHeartbeat(user);
  await service.anonymous.post(receiver);
  expect(await findHosts()).toEqual([]);
});

test('at most eight hosts are asked, and hundreds of monitors on one host do not hide the others', async () => {
  await create(user, 'big', 900, { hosts: 1 });
  await create(user, 'small', 2, { dueInSeconds: 3600 });
  expect(await findHosts()).toEqual(['big0.example', 'small0.example', 'small1.example']);
  await create(user, 'more', 20);
  expect(await findHosts()).toHaveLength(8);
});

test('the monitors of other users are asked as well, and every user has a turn before any has a second', async () => {
  const others = [await service.createUser(), await service.createUser(), await service.createUser()];
  await create(user, 'own', 200);
  for (const [index, other] of others.entries()) await create(other, `user${index}-`, 2);
  for (let run = 0; run < 5; run++) {
    const owners = (await findHosts()).map((host) => host.replace(/\d+\.example$/, ''));
    expect(owners).toEqual(['own', 'own', 'user0-', 'user0-', 'user1-', 'user1-', 'user2-', 'user2-']);
  }
});

test('the own monitors are asked even if thousands of others are due before', async () => {
  const other = await service.createUser();
  await create(user, 'own', 3, { dueInSeconds: 3600 });
  await create(other, 'other', 2500);
  expect(await findHosts()).toEqual(expect.arrayContaining(['own0.example', 'own1.example', 'own2.example']));
});
