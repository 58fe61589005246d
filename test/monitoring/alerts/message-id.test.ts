import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { messageIdOf, readInstallationId, topicOf } from '../../../src/monitoring/alerts/message-id.ts';
import type { StoredEvent } from '../../../src/monitoring/messages/event.ts';
import { wakeDispatcher } from '../../../src/monitoring/wake.ts';
import { startReceivers } from '../../support/receivers.ts';
import { namedAlert, sampleEvent } from '../../support/sample-event.ts';
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

describe('the topic of a message', () => {
  const timestamp = '2026-11-15T01:41:17.000Z';
  const down = sampleEvent();
  if (down.type !== 'monitor.down') throw new Error('This is another event.');
  const { monitor } = down.data;
  const expiringOn = (expiry: string): StoredEvent => ({
    type: 'monitor.tls_expiring',
    timestamp,
    data: { monitor: { ...monitor, tls_expires_at: expiry }, incident: null },
  });
  const expiry = '2026-11-24T12:59:00.000Z';

  test('is the same for an outage, a reminder of it and its recovery', () => {
    expect(topicOf(down, '5e2f')).toBe('sitekeeper-incident-4012-1794706867000-5e2f');
    expect(topicOf({ ...down, type: 'monitor.reminder' }, '5e2f')).toBe(topicOf(down, '5e2f'));
    expect(topicOf(sampleEvent({ type: 'monitor.recovered' }), '5e2f')).toBe(topicOf(down, '5e2f'));
  });

  test('is another one for another incident with the same id, and in another database', () => {
    const other = { ...down, data: { monitor, incident: { ...down.data.incident, started_at: timestamp } } };
    expect(topicOf(other, '5e2f')).not.toBe(topicOf(down, '5e2f'));
    expect(topicOf(down, '7a1b')).not.toBe(topicOf(down, '5e2f'));
  });

  test('is the same for the warnings of a certificate and its renewal, and another one for another certificate', () => {
    const renewed: StoredEvent = {
      type: 'monitor.tls_renewed',
      timestamp,
      data: { monitor: { ...monitor, tls_expires_at: '2027-02-01T00:00:00.000Z' }, incident: null },
      replacedExpiry: expiry,
    };
    expect(topicOf(expiringOn(expiry), '5e2f')).toBe('sitekeeper-certificate-5-1795525140000-5e2f');
    expect(topicOf(renewed, '5e2f')).toBe(topicOf(expiringOn(expiry), '5e2f'));
    expect(topicOf(expiringOn('2026-11-25T12:59:00.000Z'), '5e2f')).not.toBe(topicOf(expiringOn(expiry), '5e2f'));
  });

  test('is that of the provider or the limit for a notice', () => {
    const failing = { provider_id: 3, provider_type: 'slack', provider_name: null, failing_since: timestamp, last_delivery_error: null };
    const reached = { provider_id: 3, provider_type: 'slack', limit: '100 messages per hour', until: timestamp };
    expect(topicOf({ type: 'provider.failing', timestamp: expiry, data: failing }, '5e2f')).toBe(
      'sitekeeper-provider-3-1794706877000-5e2f',
    );
    expect(topicOf({ type: 'alerts.suppressed', timestamp: expiry, data: reached }, '5e2f')).toBe('sitekeeper-limit-3-1794706877000-5e2f');
  });
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
