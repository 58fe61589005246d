import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { messageIdOf, readInstallationId } from '../../../src/monitoring/alerts/message-id.ts';
import { wakeDispatcher } from '../../../src/monitoring/wake.ts';
import { startReceivers } from '../../support/receivers.ts';
import { namedAlert } from '../../support/sample-event.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import { createMonitor } from '../factories.ts';

let receivers: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;
let user: TestUser;
let providerId: number;

beforeAll(async () => {
  receivers = await startReceivers();
  service = await startService({ delivery: receivers.delivery }, { net: receivers.net, engine: true });
});
beforeEach(async () => {
  user = await service.createUser();
  providerId = (await user.api.post('/api/providers', { json: receivers.providers.email })).body.data.id;
  receivers.mail.mails.length = 0;
});
afterAll(async () => {
  await service.stop();
  await receivers.close();
});

const readInstallation = () => service.database.asEngine((em) => readInstallationId(queryInTransaction(em)));

interface Queued {
  name: string;
  type?: 'monitor.down' | 'monitor.recovered';
  status?: 'queued' | 'failed';
}

/** Queues alerts about one incident. */
async function queue(alerts: Queued[]): Promise<void> {
  const { id } = await createMonitor(user, { is_active: false });
  await service.database.asEngine(async (em) => {
    const [incident] = await em.execute<{ id: number }[]>(
      `insert into incidents (user_id, monitor_id, started_at, resolved_at, cause) values (?, ?, now(), now(), 'HTTP 503') returning id`,
      [user.id, id],
    );
    for (const { name, type = 'monitor.down', status = 'queued' } of alerts) {
      await em.execute(
        `insert into alerts (user_id, incident_id, provider_id, kind, payload, status) values (?, ?, ?, ${namedAlert('?', type)}, ?)`,
        [user.id, incident?.id, providerId, name, status],
        'run',
      );
    }
    await queryInTransaction(em)(wakeDispatcher({}));
  });
}

/** Waits for mails, and returns them by the names of their monitors. */
async function mailsAbout(...names: string[]) {
  await expect.poll(() => receivers.names().email.toSorted(), { timeout: 15_000 }).toEqual(names.toSorted());
  return names.map((name) => receivers.mail.mails[receivers.names().email.indexOf(name)]?.parsed ?? expect.fail());
}

test('the id of a message is that of the alert, its time, and the database', () => {
  const createdAt = new Date('2026-11-15T01:41:17.000Z');
  expect(messageIdOf({ id: 7, createdAt }, '5e2f')).toBe('alert-7-1794706877000-5e2f');
});

test('a database has one id, which stays the same', async () => {
  const [first, second] = await Promise.all([readInstallation(), readInstallation()]);
  expect(first).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect([second, await readInstallation()]).toEqual([first, first]);
  const rows = await service.database.asEngine((em) => em.execute('select id from installation'));
  expect(rows).toEqual([{ id: first }]);
});

test('the Message-ID of every alert contains the id of the database, and that of a recovery replies to the one of the outage', async () => {
  await queue([{ name: 'other' }]);
  await queue([{ name: 'down' }, { name: 'recovery', type: 'monitor.recovered' }]);
  const mails = await mailsAbout('other', 'down', 'recovery');
  const installation = await readInstallation();
  const ids = mails.map(({ messageId }) => messageId);
  for (const id of ids) expect(id).toMatch(new RegExp(`^<alert-\\d+-\\d{13}-${installation}@sitekeeper\\.example>$`));
  expect(new Set(ids).size).toBe(3);
  expect(mails.map(({ inReplyTo }) => inReplyTo)).toEqual([undefined, undefined, ids[1]]);
});

test('a recovery replies to no alert that was not sent', async () => {
  await queue([
    { name: 'down', status: 'failed' },
    { name: 'recovery', type: 'monitor.recovered' },
  ]);
  const [recovery] = await mailsAbout('recovery');
  expect(recovery?.inReplyTo).toBeUndefined();
});
