// The time until the result of a manual check shows, on a clock that stands still unless the test moves it.
import { pino } from 'pino';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { Engine } from '../../../src/monitoring/engine/engine.ts';
import { recordResults } from '../../../src/monitoring/engine/record.ts';
import { listenForWork } from '../../../src/monitoring/wake.ts';
import { parseRanges } from '../../../src/net/addresses.ts';
import { Pinger } from '../../../src/net/ping.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { testCipher } from '../../support/cipher.ts';
import { startService, type TestService } from '../../support/service.ts';
import { startTestClock } from '../../support/test-clock.ts';
import { scripts, startWebServer } from '../../support/web-server.ts';
import { countTransactions } from '../count-transactions.ts';
import { createMonitor } from '../factories.ts';
import { claimOf, makeOverdue, succeeded } from './due-monitors.ts';

let service: TestService;

beforeAll(async () => {
  service = await startService({ netAllow: ['127.0.0.0/8'] });
});
afterAll(() => service.stop());

test.each([
  ['a success', scripts.respond(), { status: 'up', last_error: null }],
  ['a failure', scripts.respond('broken', 503), { status: 'down', last_error: 'HTTP 503' }],
])('the record shows %s within a second of the end of the check', async (_, script, expected) => {
  const target = await startWebServer({ script });
  onTestFinished(() => target.close());
  const user = await service.createUser();
  const { id, path } = await createMonitor(user, { url: target.url, confirmations: 0 });
  await service.database.asEngine((em) =>
    em.execute(`update monitors set next_check_at = now() + interval '1 hour' where id = ?`, [id], 'run'),
  );
  const clock = startTestClock({ isFrozen: true });
  onTestFinished(() => clock.stop());
  const { counting, transactions } = countTransactions(service.database);
  const metrics = createMetrics();
  const net = { allow: parseRanges(['127.0.0.0/8']) };
  const pinger = new Pinger(async () => undefined);
  const engine = new Engine({ database: counting, net, pinger, cipher: testCipher, log: pino({ level: 'silent' }), metrics });
  await listenForWork(service.database, { engine, dispatcher: { wake() {} } });
  engine.start();
  onTestFinished(() => engine.stop());
  const finishedChecks = async () => (await metrics.checks.get()).values.reduce((sum, { value }) => sum + value, 0);
  await clock.until(() => transactions() > 0);

  expect((await user.api.post(`${path}/check`)).status).toBe(202);
  await clock.until(() => {
    clock.advance(50); // The engine claims it after a pause.
    return target.requests.length === 1;
  });
  await clock.until(async () => (await finishedChecks()) === 1);
  clock.advance(1000);
  await clock.until(async () => (await user.api.get(path)).body.data.last_checked_at !== null);
  expect((await user.api.get(path)).body.data).toMatchObject(expected);
});

test('a check that is running goes on, and its result shows', async () => {
  const user = await service.createUser();
  const { path } = await createMonitor(user);
  await service.database.asEngine((em) => makeOverdue(em, user.id));
  const [claim] = await service.database.asEngine((em) => claimOf(em, user.id, 1));
  expect((await user.api.post(`${path}/check`)).status).toBe(202);
  expect(await service.database.asEngine((em) => claimOf(em, user.id, 1))).toEqual([]);
  const completed = [claim].flatMap((running) => (running ? [succeeded(running)] : []));
  await service.database.asEngine((em) => recordResults(queryInTransaction(em), completed));
  expect((await user.api.get(path)).body.data).toMatchObject({ status: 'up' });
});
