// Providers whose recipients must confirm their address: what is sent to whom, and when.
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { queryInTransaction } from '../../../src/db/statement.ts';
import { wakeDispatcher } from '../../../src/monitoring/wake.ts';
import { sendDuringTransaction } from '../../support/database.ts';
import { startReceivers } from '../../support/receivers.ts';
import { startService, type TestService, type TestUser } from '../../support/service.ts';
import {
  createRecipient,
  deliveriesOf,
  endedDeliveriesOf,
  linksTo,
  linkTo,
  mailsTo,
  newAddress,
  press,
  queueOutage,
} from './recipients.ts';

let receivers: Awaited<ReturnType<typeof startReceivers>>;
let service: TestService;
let user: TestUser;
let address: string;

const unconfirmed = 'The recipient has not confirmed the address yet.';
const notSent = 'not sent: the recipient has not confirmed the address yet';

beforeAll(async () => {
  receivers = await startReceivers();
  const delivery = { ...receivers.delivery, installationName: 'Northwind <operations>' };
  service = await startService({ delivery, confirmRecipients: true }, { net: receivers.net, engine: true });
});
beforeEach(async () => {
  user = await service.createUser();
  address = newAddress();
});
afterAll(async () => {
  await service.stop();
  await receivers.close();
});

const show = async (id: number) => (await user.api.get(`/api/providers/${id}`)).body.data;
const setAddress = (id: number, recipient_email: string) => user.api.put(`/api/providers/${id}`, { json: { recipient_email } });
const isUnconfirmed = async (id: number) => {
  const [row] = await service.database.asUser(user.id, (em) =>
    em.execute<{ recipient_unconfirmed: boolean }[]>('select recipient_unconfirmed from providers where id = ?', [id]),
  );
  return row?.recipient_unconfirmed;
};

test('a recipient gets one mail with a link, and alerts only after confirming', async () => {
  const id = await createRecipient(user, address);
  expect((await show(id)).last_delivery_error).toBe(unconfirmed);
  const link = await linkTo(receivers, address);
  expect(link).toMatch(new RegExp(`^${service.url}/confirm-recipient/${id}/[\\w-]{43}$`));

  await queueOutage(service, user, id);
  expect(await endedDeliveriesOf(user, id, 2)).toEqual([
    ['monitor.down', 'suppressed', notSent],
    ['recipient.confirmation', 'sent', null],
  ]);
  expect((await show(id)).last_delivery_error).toBe(unconfirmed);

  expect((await press(link)).title).toBe('The address is confirmed');
  expect((await show(id)).last_delivery_error).toBeNull();
  await queueOutage(service, user, id);
  expect(await endedDeliveriesOf(user, id, 3)).toEqual([
    ['monitor.down', 'sent', null],
    ['monitor.down', 'suppressed', notSent],
    ['recipient.confirmation', 'sent', null],
  ]);
  expect(mailsTo(receivers, address).map(({ subject }) => subject?.slice(0, 8))).toEqual(['Confirm ', 'Down: M1']);
});

test('the mail says who asks, and that ignoring it is fine, in text and HTML', async () => {
  await createRecipient(user, address);
  const link = await linkTo(receivers, address);
  const [mail] = mailsTo(receivers, address);
  expect(mail?.subject).toBe('Confirm alerts of Northwind <operations>');
  expect(mail?.text?.trim()).toBe(`✉️ Confirm alerts of Northwind <operations>
“${user.email}” wants to send alerts about websites to “${address}”.

To get them, follow the link and press the button there.
If you do not want them, ignore this mail. Nothing more will be sent.

Confirm the address: ${link}

Northwind <operations> · Sitekeeper`);
  const html = String(mail?.html);
  expect(html).toContain('Confirm alerts of Northwind &lt;operations&gt;');
  expect(html).not.toContain('<operations>');
  expect(html.match(/<a [^>]*>([^<]*)<\/a>/g)).toHaveLength(2);
  expect(html).toMatch(new RegExp(`<a class="button" href="${link}"[^>]*>Confirm the address</a>`));
  expect(html).toMatch(new RegExp(`<a class="link" href="${link}"[^>]*>${link}</a>`));
});

test('the address of the account is shown as text, without characters that hide others', async () => {
  const email = `a<b>&"\u202e\u0007${Date.now()}@example.com`;
  await service.database.asAuthenticator((em) => em.execute('select auth_create_user(?, null)', [email]));
  const [found] = await service.database.asAuthenticator((em) => em.execute<{ id: number }[]>('select id from auth_find_user(?)', [email]));
  const { createKey } = await import('../../../src/accounts/keys.ts');
  const { key } = await service.database.asUser(Number(found?.id), (em) =>
    createKey(em, { userId: Number(found?.id), name: 'Test', scopes: ['providers:write'] }),
  );
  await service.anonymous.post('/api/providers', {
    json: { provider_type: 'email', recipient_email: address },
    headers: { Authorization: `Bearer ${key}` },
  });
  const link = await linkTo(receivers, address);
  const [mail] = mailsTo(receivers, address);
  expect(mail?.text).toMatch(/“a<b>&" ?\d+@example\.com” wants/);
  expect(String(mail?.html)).toMatch(/“a&lt;b&gt;&amp;&quot; ?\d+@example\.com” wants/);
  const { text } = await press(link);
  expect(text).toMatch(/<bdi class="address">a&lt;b&gt;&amp;&quot; ?\d+@example\.com<\/bdi> can now/);
});

test('a test sends the link again and returns 409', async () => {
  const id = await createRecipient(user, address);
  await linkTo(receivers, address);
  const { status, body } = await user.api.post(`/api/providers/${id}/test`);
  expect([status, body.code, body.detail]).toEqual([409, 'recipient_unconfirmed', `${unconfirmed} Another mail with the link was sent.`]);
  const [first, second] = await linksTo(receivers, address, 2);
  expect(second).toBe(first);
  await press(second ?? '');
  expect((await user.api.post(`/api/providers/${id}/test`)).status).toBe(200);
});

test('another address must be confirmed again, and the old link does not confirm it', async () => {
  const id = await createRecipient(user, address);
  const oldLink = await linkTo(receivers, address);
  await press(oldLink);
  const other = newAddress();
  expect((await setAddress(id, other)).body.data.last_delivery_error).toBe(unconfirmed);
  expect((await press(oldLink)).status).toBe(404);
  const link = await linkTo(receivers, other);
  await queueOutage(service, user, id);
  expect((await endedDeliveriesOf(user, id, 3))[0]).toEqual(['monitor.down', 'suppressed', notSent]);
  expect((await press(link)).status).toBe(200);
  expect(await isUnconfirmed(id)).toBe(false);
});

test('the same address stays confirmed, and a change of the name changes nothing', async () => {
  const id = await createRecipient(user, address);
  await press(await linkTo(receivers, address));
  expect((await setAddress(id, address)).body.data.last_delivery_error).toBeNull();
  await user.api.put(`/api/providers/${id}`, { json: { name: 'Operations' } });
  expect(await isUnconfirmed(id)).toBe(false);
  expect((await deliveriesOf(user, id)).map(([event]) => event)).toEqual(['recipient.confirmation']);
});

test('a new name confirms nothing', async () => {
  const id = await createRecipient(user, address);
  expect((await user.api.put(`/api/providers/${id}`, { json: { name: 'Renamed' } })).status).toBe(200);
  const { status, body } = await user.api.post(`/api/providers/${id}/test`);
  expect([status, body.code]).toEqual([409, 'recipient_unconfirmed']);
});

test('a link that waits is not sent to another address', async () => {
  const id = await createRecipient(user, address);
  await linkTo(receivers, address);
  const [other, third] = [newAddress(), newAddress()];
  await service.database.asEngine((em) =>
    em.execute(`update providers set next_message_at = app_now() + interval '1 hour' where id = ?`, [id], 'run'),
  );
  const link = async (recipient: string) => {
    // An update ends the pause, so the address of the mail that waits changes in the database.
    await service.database.asUser(user.id, (em) =>
      em.execute(`update providers set settings = jsonb_build_object('recipient_email', ?::text) where id = ?`, [recipient, id], 'run'),
    );
  };
  await link(other);
  await service.database.asUser(user.id, (em) =>
    em.execute(
      `insert into alerts (user_id, provider_id, kind, payload)
       select user_id, provider_id, kind, payload from alerts where provider_id = ? and kind = 'recipient.confirmation'`,
      [id],
      'run',
    ),
  );
  await link(third);
  await service.database.asEngine(async (em) => {
    await em.execute('update providers set next_message_at = null where id = ?', [id], 'run');
    await queryInTransaction(em)(wakeDispatcher({}));
  });
  expect((await endedDeliveriesOf(user, id, 2))[0]).toEqual([
    'recipient.confirmation',
    'suppressed',
    'not sent: the provider has another address now',
  ]);
  expect([...mailsTo(receivers, other), ...mailsTo(receivers, third)]).toEqual([]);
});

test('a link is sent again only by a test', async () => {
  const id = await createRecipient(user, address);
  await linkTo(receivers, address);
  const { body } = await user.api.get(`/api/providers/${id}/deliveries`);
  const redelivered = await user.api.post(`/api/deliveries/${body.data[0].id}/redeliver`);
  expect([redelivered.status, redelivered.body.data.status]).toEqual([202, 'sent']);
});

test('if the mail with the link fails, the provider shows why', async () => {
  const { delivery } = receivers;
  const broken = await startService(
    { delivery: { ...delivery, smtpUrl: 'smtp://127.0.0.1:1' }, confirmRecipients: true },
    { net: receivers.net, engine: true },
  );
  const other = await broken.createUser();
  const id = await createRecipient(other, address);
  const error = async () => (await other.api.get(`/api/providers/${id}`)).body.data.last_delivery_error;
  await expect.poll(error, { timeout: 15_000 }).toBe('The mail server could not be reached: connection refused.');
  await broken.stop();
});

describe('limits', () => {
  const create = (recipient_email: string, by = user) =>
    by.api.post('/api/providers', { json: { provider_type: 'email', recipient_email } });

  test('an address gets 3 mails a day, from all users together; then nothing is created', async () => {
    const other = await service.createUser();
    const spellings = [address, address.toUpperCase(), address];
    for (const [index, spelling] of spellings.entries()) expect((await create(spelling, index === 0 ? user : other)).status).toBe(201);
    const { status, body } = await create(address);
    expect([status, body.code]).toEqual([429, 'rate_limited']);
    expect(body.detail).toMatch(/^An address gets at most 3 mails a day that ask to confirm it\. Retry in \d+ seconds\.$/);
    expect((await user.api.get('/api/providers')).body.data).toHaveLength(1);
  });

  test('a user has 20 mails a day sent; then a change and a test do nothing', async () => {
    const ids: number[] = [];
    for (let count = 0; count < 20; count++) ids.push(await createRecipient(user, newAddress()));
    const [id = 0] = ids;
    const { status, body } = await setAddress(id, address);
    expect([status, body.detail.slice(0, 86)]).toEqual([
      429,
      'A user can have 20 mails a day sent that ask a recipient to confirm an address. Retry ',
    ]);
    expect((await show(id)).recipient_email).not.toBe(address);
    expect((await user.api.post(`/api/providers/${id}/test`)).status).toBe(429);
    expect((await endedDeliveriesOf(user, id, 1)).length).toBe(1);
    expect((await service.createUser()).id).not.toBe(user.id);
    expect((await create(address, await service.createUser())).status).toBe(201);
  });
});

test('a recipient who has not confirmed is not told that another provider fails', async () => {
  const create = async (type: 'telegram' | 'slack') =>
    (await user.api.post('/api/providers', { json: receivers.providers[type] })).body.data.id;
  const [id, failing, working] = [await createRecipient(user, address), await create('telegram'), await create('slack')];
  await service.database.asEngine(async (em) => {
    await em.execute(`update providers set failing_since = app_now() - interval '2 hours' where id = ?`, [failing], 'run');
    await queryInTransaction(em)(wakeDispatcher({}));
  });
  expect(await endedDeliveriesOf(user, working, 1)).toEqual([['provider.failing', 'sent', null]]);
  expect((await deliveriesOf(user, id)).map(([event]) => event)).toEqual(['recipient.confirmation']);
});

test('providers of other types need no link', async () => {
  for (const type of ['slack', 'telegram', 'sms', 'webhook'] as const) {
    const { status, body } = await user.api.post('/api/providers', { json: receivers.providers[type] });
    expect([status, body.data.last_delivery_error]).toEqual([201, null]);
    expect(await isUnconfirmed(body.data.id)).toBe(false);
  }
});

test('without the setting no link is sent, and a provider that waits for a link still waits', async () => {
  const id = await createRecipient(user, address);
  const link = await linkTo(receivers, address);
  const off = await startService({ delivery: receivers.delivery }, { net: receivers.net, database: service.database });
  const other = await off.createUser();
  const [created, changed] = [newAddress(), newAddress()];
  const { body } = await other.api.post('/api/providers', { json: { provider_type: 'email', recipient_email: created } });
  await other.api.put(`/api/providers/${body.data.id}`, { json: { recipient_email: changed } });
  expect((await other.api.post(`/api/providers/${body.data.id}/test`)).status).toBe(200);
  expect((await deliveriesOf(other, body.data.id)).map(([event]) => event)).toEqual(['test']);
  expect(await isUnconfirmed(id)).toBe(true);
  expect((await press(link)).status).toBe(200);
  await off.stop();
});

describe.runIf('server' in inject('source'))('at the same time', () => {
  const change = (id: number, recipient: string) => (em: { execute(sql: string, values: unknown[]): Promise<unknown> }) =>
    em.execute(
      `update providers set settings = settings || jsonb_build_object('recipient_email', ?::text), recipient_unconfirmed = true where id = ?`,
      [recipient, id],
    );

  test('two changes of the address leave the last one unconfirmed', async () => {
    const id = await createRecipient(user, address);
    await press(await linkTo(receivers, address));
    const other = newAddress();
    // The request has read the address that it sends, which is another one when it is written.
    await sendDuringTransaction(service.database, user.id, change(id, other), () => setAddress(id, address));
    expect((await show(id)).recipient_email).toBe(address);
    expect(await isUnconfirmed(id)).toBe(true);
  });

  test('a link does not confirm the address that replaces its own', async () => {
    const id = await createRecipient(user, address);
    const link = await linkTo(receivers, address);
    const { status } = await sendDuringTransaction(service.database, user.id, change(id, newAddress()), () => press(link));
    expect(status).toBe(404);
    expect(await isUnconfirmed(id)).toBe(true);
  });

  test('a provider that is deleted meanwhile is not found', async () => {
    const id = await createRecipient(user, address);
    const link = await linkTo(receivers, address);
    const remove = (em: { execute(sql: string, values: unknown[]): Promise<unknown> }) =>
      em.execute('delete from providers where id = ?', [id]);
    const [{ status }, { status: tested }] = await Promise.all([
      sendDuringTransaction(service.database, user.id, remove, () => press(link)),
      user.api.post(`/api/providers/${id}/test`),
    ]);
    expect(status).toBe(404);
    expect([404, 409]).toContain(tested);
  });
});
