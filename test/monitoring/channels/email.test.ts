import { createServer, type Server, type Socket } from 'node:net';
import type { SMTPServerOptions } from 'smtp-server';
import { afterEach, describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { DeliveryFailed, type Message } from '../../../src/monitoring/channels/channel.ts';
import { createChannels } from '../../../src/monitoring/channels/registry.ts';
import { testMessage } from '../../../src/monitoring/channels/test-message.ts';
import { contentOf } from '../../../src/monitoring/messages/content.ts';
import type { StoredEvent } from '../../../src/monitoring/messages/event.ts';
import { groupContent } from '../../../src/monitoring/messages/group-content.ts';
import { createAuthority, trust } from '../../support/certificates.ts';
import { type MailServer, startMailServer } from '../../support/mail-server.ts';
import { sampleEvent } from '../../support/sample-event.ts';

const startedServers: { close(): unknown }[] = [];
const from = 'Sitekeeper <alerts@mail.example.com>';
const messageOf = (event: StoredEvent, others: Partial<Message> = {}): Message => ({
  id: 'alert-7-1794706877000-5e2f',
  topic: 'sitekeeper-incident-4012',
  userId: 1,
  event,
  content: contentOf(event),
  ...others,
});
const message = messageOf(sampleEvent());

afterEach(async () => {
  for (const server of startedServers.splice(0)) await server.close();
});

async function mailServer(options?: SMTPServerOptions): Promise<MailServer> {
  const server = await startMailServer(options);
  startedServers.push(server);
  return server;
}

function emailChannel(smtpUrl: string, timeoutMs = 20_000) {
  return createChannels(readConfig({ SMTP_URL: smtpUrl, MAIL_FROM: from }).delivery, { allow: [] }, { timeoutMs }).email;
}

const send = (smtpUrl: string, recipientEmail = 'ops@example.com', what = message) =>
  emailChannel(smtpUrl).send({ recipient_email: recipientEmail }, what);

async function failureOf(delivery: Promise<void>): Promise<DeliveryFailed> {
  const error = await delivery.then(
    () => new Error('The message was delivered.'),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DeliveryFailed);
  return error as DeliveryFailed;
}

/** The texts of an HTML mail in their order. */
function shownLines(html: string): string[] {
  const [, body = ''] = html.split('<body');
  const texts = `<body${body}`.split(/<[^>]*>/).map((text) => text.trim());
  return texts.filter((text) => text !== '');
}

describe('mail', () => {
  test('has one recipient, a text and an HTML part, and the same Message-ID in every attempt', async () => {
    const server = await mailServer();
    await send(`smtp://${server.host}`);
    await send(`smtp://${server.host}`);
    expect(server.mails).toHaveLength(2);
    const [{ recipients, sender, parsed, raw } = expect.fail(), retry] = server.mails;
    expect(recipients).toEqual(['ops@example.com']);
    expect(sender).toBe('alerts@mail.example.com');
    expect(parsed.to).toMatchObject({ value: [{ address: 'ops@example.com', name: '' }] });
    expect(parsed.from).toMatchObject({ value: [{ address: 'alerts@mail.example.com', name: 'Sitekeeper' }] });
    expect(parsed.subject).toBe('Down: Checkout API (503 Service Unavailable, expected 2xx)');
    expect(parsed.messageId).toBe('<alert-7-1794706877000-5e2f@mail.example.com>');
    expect(retry?.parsed.messageId).toBe(parsed.messageId);
    expect(parsed.headers.get('auto-submitted')).toBe('auto-generated');
    expect(parsed.inReplyTo).toBeUndefined();
    expect(raw).toMatch(/^Content-Type: multipart\/alternative/m);
  });

  test('says the same in both parts: what has happened, what is known of it, and why the recipient gets it', async () => {
    const server = await mailServer();
    await send(`smtp://${server.host}`);
    const { parsed } = server.mails[0] ?? expect.fail();
    const url = 'https://api.northwind.example/v2/checkout/health';
    const facts = [
      ['Since', 'Sun 15 Nov, 01:41:07 UTC'],
      ['Confirmed', 'Sun 15 Nov, 01:41:17 UTC, 3 failed checks in a row'],
      ['Last good', 'Sun 15 Nov, 01:40:07 UTC, 614 ms'],
      ['Address', url],
    ];
    const reason = ['You get this because “ops@example.com” is assigned to this monitor.', 'Sitekeeper · incident 4012'];
    expect(parsed.text?.split('\n')).toEqual([
      '❌ Down: Checkout API',
      '503 Service Unavailable, expected 2xx',
      '',
      ...facts.map((fact) => fact.join(': ')),
      '',
      `Open the site: ${url}`,
      '',
      ...reason,
    ]);
    const shown = shownLines(parsed.html || '');
    expect(shown).toEqual([
      'Since Sun 15 Nov, 01:41:07 UTC · last good 614 ms · api.northwind.example',
      '✕',
      'Down',
      'Checkout API',
      '503 Service Unavailable, expected 2xx',
      ...facts.flat(),
      'Open the site',
      ...reason,
    ]);
    expect(parsed.html).toContain(`<a class="link" href="${url}"`);
    expect(parsed.html).toContain(`<a class="button" href="${url}"`);
  });

  const timestamp = '2026-11-15T12:59:00.000Z';
  const provider = { provider_id: 3, provider_type: 'slack', provider_name: 'Ops', failing_since: timestamp, last_delivery_error: 'x' };
  const reached = { provider_id: 3, provider_type: 'email', limit: '100 messages per hour for this provider', until: timestamp };
  const grouped = Array.from({ length: 6 }, (_, index) => ({ type: 'monitor.down' as const, monitorId: index, event: sampleEvent() }));
  const failing = messageOf({ type: 'provider.failing', timestamp, data: provider });
  const suppressed = messageOf({ type: 'alerts.suppressed', timestamp, data: reached });
  const account = 'You get this because it is about the providers of this account, and “ops@example.com” is one of them.';

  test.each([
    ['a group', { ...message, content: groupContent(grouped) }, 'You get this because “ops@example.com” is assigned to these monitors.'],
    ['a provider that fails', failing, account],
    ['a limit', suppressed, account],
  ])('about %s says why the recipient gets it, in both parts', async (_, what, reason) => {
    const server = await mailServer();
    await send(`smtp://${server.host}`, 'ops@example.com', what);
    const { text = '', html } = server.mails[0]?.parsed ?? expect.fail();
    expect(text.trim().split('\n').slice(-2)).toEqual([reason, 'Sitekeeper']);
    expect(shownLines(html || '').slice(-2)).toEqual([reason, 'Sitekeeper']);
  });

  test('of a test has no reason, because the recipient may not be assigned to any monitor', async () => {
    const server = await mailServer();
    await send(`smtp://${server.host}`, 'ops@example.com', testMessage({ userId: 1, now: new Date() }));
    expect(server.mails[0]?.parsed.text).not.toContain('You get this');
  });

  test('shows what users enter as text, and no address ends its link', async () => {
    const server = await mailServer();
    const event = sampleEvent({ name: '<img src=x onerror=alert(1)>', cause: 'the body contains "<b>&amp;"' });
    if (event.type !== 'monitor.down') expect.fail();
    event.data.monitor.url = `https://shop.example/"><script>'`;
    await send(`smtp://${server.host}`, "o'hara&co@example.com", messageOf(event));
    const html = server.mails[0]?.parsed.html || '';
    expect(html).toContain('<bdi>&lt;img src=x onerror=alert(1)&gt;</bdi>');
    expect(html).toContain('<title>Down: &lt;img src=x onerror=alert(1)&gt; (the body contains &quot;&lt;b&gt;&amp;amp;&quot;)</title>');
    expect(html.match(/<(?:img|script|b)\b/)).toBeNull();
    expect(html.match(/href="[^"]*"/g)).toEqual(Array(2).fill('href="https://shop.example/&quot;&gt;&lt;script&gt;&#39;"'));
    expect(html).toContain('“o&#39;hara&amp;co@example.com”');
  });

  test('has a subject of at most 200 characters, and shows as much of an address, which its link has in full', async () => {
    const server = await mailServer();
    const event = sampleEvent({ cause: `the body contains "${'x'.repeat(900)}"` });
    if (event.type !== 'monitor.down') expect.fail();
    const url = `https://shop.example/${'a'.repeat(1900)}`;
    event.data.monitor.url = url;
    await send(`smtp://${server.host}`, 'ops@example.com', messageOf(event));
    const { subject, html } = server.mails[0]?.parsed ?? expect.fail();
    expect(subject).toMatch(/^Down: Checkout API \(the body contains "x+…$/);
    expect(subject).toHaveLength(200);
    expect(html).toContain(`href="${url}" style="color:#0f766e">${url.slice(0, 199)}…</a>`);
  });

  test('of an installation with a name says so', async () => {
    const server = await mailServer();
    const { delivery } = readConfig({ SMTP_URL: `smtp://${server.host}`, MAIL_FROM: from, INSTALLATION_NAME: 'Northwind operations' });
    const { email } = createChannels(delivery, { allow: [] });
    await email.send({ recipient_email: 'ops@example.com' }, messageOf(sampleEvent({ type: 'monitor.recovered' })));
    expect(server.mails[0]?.parsed.text).toContain('\nNorthwind operations · Sitekeeper · incident 4012');
  });

  test('about a recovery replies to the one about the outage', async () => {
    const server = await mailServer();
    const recovery = messageOf(sampleEvent({ type: 'monitor.recovered' }), { id: 'alert-8-2-5e2f', continues: 'alert-7-1-5e2f' });
    await send(`smtp://${server.host}`, 'ops@example.com', recovery);
    expect(server.mails[0]?.parsed).toMatchObject({
      subject: 'Recovered: Checkout API, was down 23 min',
      messageId: '<alert-8-2-5e2f@mail.example.com>',
      inReplyTo: '<alert-7-1-5e2f@mail.example.com>',
      references: '<alert-7-1-5e2f@mail.example.com>',
    });
  });

  test('contains the test message', async () => {
    const server = await mailServer();
    await send(`smtp://${server.host}`, 'ops@example.com', testMessage({ userId: 1, now: new Date() }));
    expect(server.mails[0]?.parsed.subject).toBe('🔔 Test notification from Sitekeeper');
    expect(server.mails[0]?.parsed.text).toMatch(/^🔔 Test notification /);
  });

  test('gets no header and no recipient from line breaks in the name, the cause and the id', async () => {
    const server = await mailServer();
    const injection = 'x\r\nBcc: evil@example.com\r\n\r\n.\r\nRCPT TO:<evil@example.com>';
    await send(
      `smtp://${server.host}`,
      'ops@example.com',
      messageOf(sampleEvent({ name: injection, cause: injection }), { id: injection }),
    );
    expect(server.mails).toHaveLength(1);
    expect(server.mails[0]?.recipients).toEqual(['ops@example.com']);
    const { parsed } = server.mails[0] ?? expect.fail();
    expect(parsed.bcc).toBeUndefined();
    const line = 'x Bcc: evil@example.com . RCPT TO:<evil@example.com>';
    expect(parsed.subject).toBe(`Down: ${line} (${line})`);
    expect(parsed.messageId).toMatch(/^<[\w.-]+@mail\.example\.com>$/);
    expect(parsed.text).toContain(`❌ Down: ${line}\n${line}\n`);
  });

  test.each([
    ['characters that change the direction of writing', 'a\u202egpj.exe\u2066\u200f', 'agpj.exe'],
    ['an encoded word', '=?utf-8?Q?Bank?=', '= ?utf-8?Q?Bank?='],
    ['an encoded word beside other characters', 'ü =?utf-8?Q?Bank?=', 'ü = ?utf-8?Q?Bank?='],
  ])('has a subject without %s', async (_, name, shown) => {
    const server = await mailServer();
    await send(`smtp://${server.host}`, 'ops@example.com', messageOf(sampleEvent({ name, cause: 'connection refused' })));
    const { parsed, raw } = server.mails[0] ?? expect.fail();
    expect(parsed.subject).toBe(`Down: ${shown} (connection refused)`);
    expect(raw).not.toMatch(/^Subject:.*=\?utf-8\?Q\?Bank\?=/im);
  });
});

describe('recipient', () => {
  test.each([
    'a@example.com, b@example.com',
    'a@example.com,b@example.com',
    'a@example.com;b@example.com',
    'a@example.com b@example.com',
    'a@example.com\r\nBcc: b@example.com',
    'a@example.com>\r\nRCPT TO:<b@example.com',
    'a@example.com> <b@example.com',
    '"A" <a@example.com>',
    'A <a@example.com>',
    '<a@example.com>',
    'team: a@example.com, b@example.com;',
    '"a@example.com, b"@example.com',
    'a@example.com\u0000',
    'a@b@example.com',
    'nobody',
    '',
  ])('%j is a permanent failure without a connection', async (recipient) => {
    const server = await mailServer();
    const failure = await failureOf(send(`smtp://${server.host}`, recipient));
    expect(failure).toMatchObject({ permanent: true, message: 'The recipient is not a single e-mail address.' });
    expect(server.connections).toBe(0);
  });

  test.each(["o'hara+alerts@example.com", 'a=b@example.com', '{x}|y@example.com', '$a%b@example.com'])(
    '%s is unusual but valid, and becomes the only recipient',
    async (recipient) => {
      const server = await mailServer();
      await send(`smtp://${server.host}`, recipient);
      expect(server.mails[0]?.recipients).toEqual([recipient]);
    },
  );
});

describe('login', () => {
  const options: SMTPServerOptions = {
    authOptional: false,
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _, done) =>
      username === 'operator' && password === 'p@ss:word'
        ? done(null, { user: username })
        : done(new Error(`wrong password ${password} of ${username}`)),
  };

  test('uses the credentials in SMTP_URL', async () => {
    const server = await mailServer(options);
    await send(`smtp://operator:p%40ss%3Aword@${server.host}`);
    expect(server.mails).toHaveLength(1);
  });

  test('with wrong credentials is a temporary failure whose message does not contain them', async () => {
    const server = await mailServer(options);
    const failure = await failureOf(send(`smtp://operator:hidden%40@${server.host}`));
    expect(failure).toMatchObject({
      permanent: false,
      settings: ['SMTP_URL'],
      message: 'The mail server temporarily rejected the message with status 535: it rejected the login of this service.',
    });
  });
});

describe('rejected mail', () => {
  const rejectRecipient = (responseCode: number, text: string): SMTPServerOptions => ({
    allowInsecureAuth: true,
    onAuth: (_, __, done) => done(null, { user: 'operator' }),
    onRcptTo: (_, __, done) => done(Object.assign(new Error(text), { responseCode })),
  });

  test('with a 4xx code is a temporary failure', async () => {
    const server = await mailServer(rejectRecipient(450, '4.2.1 Mailbox is busy.'));
    expect(await failureOf(send(`smtp://${server.host}`))).toMatchObject({
      permanent: false,
      message: 'The mail server temporarily rejected the message with status 450: 4.2.1 Mailbox is busy.',
    });
  });

  test('with a 5xx code is a permanent failure; the quoted text is truncated and redacted', async () => {
    const server = await mailServer(rejectRecipient(550, `5.1.1 No such user; login operator:p@ss:word ${'x'.repeat(500)}`));
    const failure = await failureOf(send(`smtp://operator:p%40ss%3Aword@${server.host}`));
    expect(failure.permanent).toBe(true);
    expect(failure.message).toMatch(
      /^The mail server rejected the message with status 550: 5\.1\.1 No such user; login \*\*\*\*:\*\*\*\* x+…\.$/,
    );
    expect(failure.message.length).toBeLessThan(300);
  });

  test.each([
    ['in whole', (url: string) => url],
    ['in part', (url: string) => url.slice(0, -20)],
    ['on two lines', (url: string) => url.replace(/.{30}$/, '\r\n$&')],
    ['as a signature', (url: string) => url.slice(url.lastIndexOf('/') + 1)],
    ['percent-encoded', encodeURIComponent],
  ])('is quoted without the link that confirms the address: %s', async (_, quote) => {
    const signature = 'Vn3kQ8rT1xZbLw5yPc7DmHs0JgAe2FuKiN4oRtXvB6E';
    const url = `https://status.example.com/confirm-recipient/5/${signature}`;
    const event: StoredEvent = {
      type: 'recipient.confirmation',
      timestamp: '2026-11-15T12:59:00.000Z',
      data: { provider_id: 5, recipient: 'ops@example.com', account: 'ana@example.com', installation: 'Sitekeeper', url },
    };
    const server = await mailServer(rejectRecipient(554, `5.7.1 Spam: ${quote(url)}`));
    const { message: shown } = await failureOf(send(`smtp://${server.host}`, 'ops@example.com', messageOf(event)));
    expect(shown).toMatch(/^The mail server rejected the message with status 554: 5\.7\.1 Spam: .*\*\*\*\*/);
    for (let at = 0; at + 8 <= signature.length; at++) expect(shown).not.toContain(signature.slice(at, at + 8));
  });

  test('after the data is a permanent failure', async () => {
    const server = await mailServer({
      onData: (stream, _, done) =>
        void stream.resume().on('end', () => done(Object.assign(new Error('5.7.1 Looks like spam'), { responseCode: 554 }))),
    });
    expect(await failureOf(send(`smtp://${server.host}`))).toMatchObject({
      permanent: true,
      message: 'The mail server rejected the message with status 554: 5.7.1 Looks like spam.',
    });
  });
});

describe('a mail server that', () => {
  async function rawServer(handle: (socket: Socket) => void): Promise<string> {
    const sockets = new Set<Socket>();
    const server: Server = createServer((socket) => {
      sockets.add(socket.on('error', () => {}));
      handle(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    startedServers.push({
      close() {
        for (const socket of sockets) socket.destroy();
        server.close();
      },
    });
    return `127.0.0.1:${(server.address() as { port: number }).port}`;
  }

  test.each([
    ['never sends a greeting', 'smtp', () => {}],
    ['never starts TLS', 'smtps', () => {}],
    [
      'never finishes its greeting',
      'smtp',
      (socket: Socket) => void setInterval(() => socket.destroyed || socket.write('220-wait\r\n'), 20).unref(),
    ],
    ['stops responding after its greeting', 'smtp', (socket: Socket) => void socket.write('220 hello\r\n')],
  ])('%s is a temporary failure after the timeout', async (_, scheme, handle) => {
    const host = await rawServer(handle);
    const failure = await failureOf(emailChannel(`${scheme}://${host}`, 300).send({ recipient_email: 'ops@example.com' }, message));
    expect(failure).toMatchObject({ permanent: false, message: 'The mail server did not respond in time.' });
  });

  test('sends too much is a temporary failure before the timeout', async () => {
    // This is less than the default limit of nodemailer, and then nothing: without our own limit it would wait for the timeout.
    const host = await rawServer((socket) => socket.write(`220-${'x'.repeat(200_000)}`));
    const failure = await failureOf(send(`smtp://${host}`));
    expect(failure.permanent).toBe(false);
    expect(failure.message).toMatch(/^The mail server could not be reached: [^:]{1,100}\.$/);
  });

  test.each([
    ['resets the connection', 'connection closed before the response was complete', (socket: Socket) => socket.resetAndDestroy()],
    ['closes the connection', 'it closed the connection', (socket: Socket) => socket.end()],
    ['closes the connection after its greeting', 'it closed the connection', (socket: Socket) => socket.end('220 hello\r\n')],
    ['speaks another protocol', 'its response is not valid SMTP', (socket: Socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ])('%s is a temporary failure: %s', async (_, reason, handle) => {
    const failure = await failureOf(send(`smtp://${await rawServer(handle)}`));
    expect(failure).toMatchObject({ permanent: false, message: `The mail server could not be reached: ${reason}.` });
  });

  test('rejects a mail in several lines is quoted without the repeated code', async () => {
    const host = await rawServer((socket) => {
      socket.write('220 hello\r\n');
      socket.on('data', (command) => socket.write(String(command).startsWith('MAIL') ? '550-Not\r\n550 welcome\r\n' : '250 ok\r\n'));
    });
    expect(await failureOf(send(`smtp://${host}`))).toMatchObject({
      permanent: true,
      message: 'The mail server rejected the message with status 550: Not welcome.',
    });
  });

  test('does not listen is a temporary failure', async () => {
    const server = await startMailServer();
    await server.close();
    expect(await failureOf(send(`smtp://${server.host}`))).toMatchObject({
      permanent: false,
      message: 'The mail server could not be reached: connection refused.',
    });
  });
});

test.each([
  ['smtps', 'from the first byte', true],
  ['smtp', 'after STARTTLS', false],
] as const)('%s: TLS %s requires a certificate of a trusted authority', async (scheme, _, secure) => {
  const [trustedAuthority, unknownAuthority] = [await createAuthority(), await createAuthority()];
  trust(trustedAuthority);
  const trusted = await mailServer({ ...(await trustedAuthority.issue('127.0.0.1')), secure });
  await send(`${scheme}://${trusted.host}?requireTLS=true`);
  expect(trusted.mails).toHaveLength(1);
  const untrusted = await mailServer({ ...(await unknownAuthority.issue('127.0.0.1')), secure });
  expect(await failureOf(send(`${scheme}://${untrusted.host}`))).toMatchObject({
    permanent: false,
    message: expect.stringContaining('TLS certificate'),
  });
  expect(untrusted.mails).toHaveLength(0);
});

test('returns the name of the missing setting and does not send without it', async () => {
  const channelWith = (env: Record<string, string>) => createChannels(readConfig(env).delivery, { allow: [] }).email;
  expect(channelWith({}).missingSetting()).toBe('SMTP_URL');
  expect(channelWith({ SMTP_URL: 'smtp://127.0.0.1' }).missingSetting()).toBe('MAIL_FROM');
  expect(channelWith({ SMTP_URL: 'smtp://127.0.0.1', MAIL_FROM: from }).missingSetting()).toBeUndefined();
  for (const [env, setting] of [
    [{}, 'SMTP_URL'],
    [{ SMTP_URL: 'smtp://127.0.0.1' }, 'MAIL_FROM'],
  ] as const) {
    expect(await failureOf(channelWith(env).send({ recipient_email: 'ops@example.com' }, message))).toMatchObject({
      permanent: false,
      message: `Delivery is not configured on this service. Ask the operator to set ${setting}.`,
    });
  }
});
