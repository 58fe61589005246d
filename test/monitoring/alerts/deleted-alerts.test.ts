import { pino } from 'pino';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { deleteUser } from '../../../src/accounts/users.ts';
import { SecretCipher } from '../../../src/auth/secret-cipher.ts';
import { Dispatcher } from '../../../src/monitoring/alerts/dispatcher.ts';
import { createChannels } from '../../../src/monitoring/channels/registry.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { queueAlerts } from '../../faults/support/queue-alerts.ts';
import { startReceivers } from '../../support/receivers.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { countTransactions } from '../count-transactions.ts';
import { createMonitor } from '../factories.ts';

let receivers: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;

beforeAll(async () => {
  receivers = await startReceivers();
  service = await startService({ delivery: receivers.delivery });
});
afterAll(async () => {
  await service.stop();
  await receivers.close();
});

/** Starts a dispatcher that nothing wakes, so that its transactions are those of the alerts that are due when it starts. */
function startDispatcher() {
  const { counting, transactions } = countTransactions(service.database);
  const dispatcher = new Dispatcher({
    database: counting,
    channels: createChannels(receivers.delivery, receivers.net),
    cipher: new SecretCipher([Buffer.alloc(32, 1)]),
    log: pino({ level: 'silent' }),
    metrics: createMetrics(),
  });
  dispatcher.start();
  onTestFinished(() => dispatcher.stop());
  return transactions;
}

test.each([
  ['provider', (user: TestUser, { providerId }: { providerId: number }) => user.api.delete(`/api/providers/${providerId}`)],
  ['monitor', (user: TestUser, { monitorId }: { monitorId: number }) => user.api.delete(`/api/monitors/${monitorId}`)],
  ['user', (user: TestUser) => deleteUser(service.database, user.id)],
])('deleting a %s deletes its alerts, and those that wait for a slow attempt are not sent', async (_, deleteIt) => {
  const user = await service.createUser();
  const { id: monitorId } = await createMonitor(user, { is_active: false });
  const providerId = (await user.api.post('/api/providers', { json: receivers.providers.telegram })).body.data.id;
  const respond = receivers.telegram.script;
  onTestFinished(() => {
    receivers.telegram.script = respond;
  });
  const { promise: attempted, resolve: finishAttempt } = Promise.withResolvers<() => void>();
  receivers.telegram.script = (request, response) => finishAttempt(() => respond(request, response));
  const before = receivers.telegram.requests.length;
  // Both are queued before the dispatcher starts, so that they are leased together.
  await service.database.asEngine((em) => queueAlerts(em, { monitorId, providerId, count: 2 }));
  const transactions = startDispatcher();
  const finish = await attempted;
  expect(transactions()).toBe(2); // One leased both alerts, and one counted the first.
  await deleteIt(user, { providerId, monitorId });
  receivers.telegram.script = respond;
  finish();
  // The attempt is recorded, the second alert is not found, and the dispatcher looks for others. If it sent the second alert, it
  // would have done so before its fifth transaction, which would record that.
  await expect.poll(transactions, { timeout: 15_000 }).toBe(5);
  expect(receivers.telegram.requests.length).toBe(before + 1);
  expect(await service.database.asEngine((em) => em.execute('select id from alerts where user_id = ?', [user.id]))).toEqual([]);
});
