import { createServer, type Server, type Socket } from 'node:net';
import type { SMTPServerOptions } from 'smtp-server';
import { afterEach, describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { DeliveryFailed, type Message } from '../../../src/monitoring/channels/channel.ts';
import { createChannels } from '../../../src/monitoring/channels/channels.ts';
import { testMessage } from '../../../src/monitoring/channels/test-message.ts';
import { createAuthority, trust } from '../../support/certificates.ts';
import { type MailServer, startMailServer } from '../../support/mail-server.ts';

const started: { close(): unknown }[] = [];
const from = 'Sitekeeper <alerts@mail.example.com>';
const message: Message = {
  id: 'alert-7-down',
  subject: 'Shop is down',
  text: 'Shop is down.\n\nhttps://shop.example/?a=1&b=<2>\nSince 10:00',
};

afterEach(async () => {
  for (const server of started.splice(0)) await server.close();
});

async function mailServer(options?: SMTPServerOptions): Promise<MailServer> {
  const server = await startMailServer(options);
  started.push(server);
  return server;
}

function email(smtpUrl: string, timeoutMs = 20_000) {
  return createChannels(readConfig({ SMTP_URL: smtpUrl, MAIL_FROM: from }).delivery, { allow: [] }, { timeoutMs }).email;
}

const send = (smtpUrl: string, recipientEmail = 'ops@example.com', what = message) => email(smtpUrl).send({ recipientEmail }, what);

async function failureOf(sending: Promise<void>): Promise<DeliveryFailed> {
  const error = await sending.then(
    () => new Error('it was delivered'),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DeliveryFailed);
  return error as DeliveryFailed;
}

test('a mail with one recipient, both parts, and an id that stays the same', async () => {
  const server = await mailServer();
  await send(`smtp://${server.host}`);
  await send(`smtp://${server.host}`);
  expect(server.mails).toHaveLength(2);
  const [{ recipients, sender, parsed, raw } = expect.fail(), again] = server.mails;
  expect(recipients).toEqual(['ops@example.com']);
  expect(sender).toBe('alerts@mail.example.com');
  expect(parsed.to).toMatchObject({ value: [{ address: 'ops@example.com', name: '' }] });
  expect(parsed.from).toMatchObject({ value: [{ address: 'alerts@mail.example.com', name: 'Sitekeeper' }] });
  expect(parsed.subject).toBe('Shop is down');
  expect(parsed.messageId).toBe('<alert-7-down@mail.example.com>');
  expect(again?.parsed.messageId).toBe(parsed.messageId);
  expect(parsed.headers.get('auto-submitted')).toBe('auto-generated');
  expect(parsed.text?.trimEnd()).toBe(message.text);
  expect(parsed.html).toContain('<p>Shop is down.</p>\n<p>https://shop.example/?a=1&#38;b=&#60;2&#62;<br>Since 10:00</p>');
  expect(raw).toMatch(/^Content-Type: multipart\/alternative/m);
});

test('the test message arrives', async () => {
  const server = await mailServer();
  await send(`smtp://${server.host}`, 'ops@example.com', testMessage('email'));
  expect(server.mails[0]?.parsed.subject).toBe('🔔 Test notification from Sitekeeper');
  expect(server.mails[0]?.parsed.text).toMatch(/^🔔 Test notification /);
});

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
])('the recipient %j is refused before a connection is made', async (recipient) => {
  const server = await mailServer();
  const failure = await failureOf(send(`smtp://${server.host}`, recipient));
  expect(failure).toMatchObject({ permanent: true, message: 'The recipient is not one e-mail address.' });
  expect(server.connections).toBe(0);
});

test.each(["o'hara+alerts@example.com", 'a=b@example.com', '{x}|y@example.com', '$a%b@example.com'])(
  'the odd but good recipient %s is the only one',
  async (recipient) => {
    const server = await mailServer();
    await send(`smtp://${server.host}`, recipient);
    expect(server.mails[0]?.recipients).toEqual([recipient]);
  },
);

test('line ends in subject, text and id add no header and no recipient', async () => {
  const server = await mailServer();
  const evil = 'x\r\nBcc: evil@example.com\r\n\r\n.\r\nRCPT TO:<evil@example.com>';
  await send(`smtp://${server.host}`, 'ops@example.com', { id: evil, subject: evil, text: evil });
  expect(server.mails).toHaveLength(1);
  expect(server.mails[0]?.recipients).toEqual(['ops@example.com']);
  const { parsed } = server.mails[0] ?? expect.fail();
  expect(parsed.bcc).toBeUndefined();
  expect(parsed.subject).toBe('x Bcc: evil@example.com . RCPT TO:<evil@example.com>');
  expect(parsed.messageId).toMatch(/^<[\w.-]+@mail\.example\.com>$/);
  expect(parsed.text?.replaceAll('\r', '').trimEnd()).toBe(evil.replaceAll('\r', ''));
});

describe('the login', () => {
  const options: SMTPServerOptions = {
    authOptional: false,
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _, done) =>
      username === 'operator' && password === 'p@ss:word'
        ? done(null, { user: username })
        : done(new Error(`wrong password ${password} of ${username}`)),
  };

  test('is taken from the setting', async () => {
    const server = await mailServer(options);
    await send(`smtp://operator:p%40ss%3Aword@${server.host}`);
    expect(server.mails).toHaveLength(1);
  });

  test('if it is wrong, the reason says so and names nothing of it', async () => {
    const server = await mailServer(options);
    const failure = await failureOf(send(`smtp://operator:hidden%40@${server.host}`));
    expect(failure).toMatchObject({
      permanent: false,
      message: 'The mail server could not take the message for now, with the code 535: it does not accept our login.',
    });
  });
});

describe('refusals', () => {
  const refuse = (responseCode: number, text: string): SMTPServerOptions => ({
    allowInsecureAuth: true,
    onAuth: (_, __, done) => done(null, { user: 'operator' }),
    onRcptTo: (_, __, done) => done(Object.assign(new Error(text), { responseCode })),
  });

  test('a code of 4xx may pass', async () => {
    const server = await mailServer(refuse(450, '4.2.1 Mailbox is busy.'));
    expect(await failureOf(send(`smtp://${server.host}`))).toMatchObject({
      permanent: false,
      message: 'The mail server could not take the message for now, with the code 450: 4.2.1 Mailbox is busy.',
    });
  });

  test('a code of 5xx is permanent; words are cut and secrets removed', async () => {
    const server = await mailServer(refuse(550, `5.1.1 No such user; login operator:p@ss:word ${'x'.repeat(500)}`));
    const failure = await failureOf(send(`smtp://operator:p%40ss%3Aword@${server.host}`));
    expect(failure.permanent).toBe(true);
    expect(failure.message).toMatch(
      /^The mail server refused the message with the code 550: 5\.1\.1 No such user; login \*\*\*\*:\*\*\*\* x+…\.$/,
    );
    expect(failure.message.length).toBeLessThan(300);
  });

  test('after the data', async () => {
    const server = await mailServer({
      onData: (stream, _, done) =>
        void stream.resume().on('end', () => done(Object.assign(new Error('5.7.1 Looks like spam'), { responseCode: 554 }))),
    });
    expect(await failureOf(send(`smtp://${server.host}`))).toMatchObject({
      permanent: true,
      message: expect.stringContaining('554: 5.7.1 Looks like spam.'),
    });
  });
});

describe('a mail server that', () => {
  async function rawServer(talk: (socket: Socket) => void): Promise<string> {
    const sockets = new Set<Socket>();
    const server: Server = createServer((socket) => {
      sockets.add(socket.on('error', () => {}));
      talk(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    started.push({
      close() {
        for (const socket of sockets) socket.destroy();
        server.close();
      },
    });
    return `127.0.0.1:${(server.address() as { port: number }).port}`;
  }

  test.each([
    ['says nothing', 'smtp', () => {}],
    ['says nothing where TLS is to begin', 'smtps', () => {}],
    [
      'drips its greeting',
      'smtp',
      (socket: Socket) => void setInterval(() => socket.destroyed || socket.write('220-wait\r\n'), 20).unref(),
    ],
    ['greets and hangs', 'smtp', (socket: Socket) => void socket.write('220 hello\r\n')],
  ])('%s is given up in time', async (_, scheme, talk) => {
    const host = await rawServer(talk);
    const failure = await failureOf(email(`${scheme}://${host}`, 300).send({ recipientEmail: 'ops@example.com' }, message));
    expect(failure).toMatchObject({ permanent: false, message: 'The mail server did not answer in time.' });
  });

  test('answers endlessly is cut off', async () => {
    // Less than nodemailer itself would take, and then silence: without the limit of ours it would wait until it is late.
    const host = await rawServer((socket) => socket.write(`220-${'x'.repeat(200_000)}`));
    const failure = await failureOf(send(`smtp://${host}`));
    expect(failure.permanent).toBe(false);
    expect(failure.message).toMatch(/^The mail server could not be reached: [^:]{1,100}\.$/);
  });

  test.each([
    ['resets the connection', (socket: Socket) => socket.resetAndDestroy()],
    ['hangs up', (socket: Socket) => socket.end()],
    ['hangs up after the greeting', (socket: Socket) => socket.end('220 hello\r\n')],
    ['speaks something else', (socket: Socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ])('%s has a passing fault', async (_, talk) => {
    const failure = await failureOf(send(`smtp://${await rawServer(talk)}`));
    expect(failure.permanent).toBe(false);
    expect(failure.message).toMatch(/^The mail server could not be reached: (?!undefined)[^:]+\.$/);
  });

  test('is not there', async () => {
    const server = await startMailServer();
    await server.close();
    expect(await failureOf(send(`smtp://${server.host}`))).toMatchObject({
      permanent: false,
      message: 'The mail server could not be reached: connection refused.',
    });
  });
});

test('over TLS a certificate of a known authority is needed, from the first byte or by STARTTLS', async () => {
  const [authority, stranger] = [await createAuthority(), await createAuthority()];
  trust(authority);
  const known = await authority.issue('127.0.0.1');
  for (const [scheme, secure] of [
    ['smtps', true],
    ['smtp', false],
  ] as const) {
    const good = await mailServer({ ...known, secure });
    await send(`${scheme}://${good.host}?requireTLS=true`);
    expect(good.mails).toHaveLength(1);
    const bad = await mailServer({ ...(await stranger.issue('127.0.0.1')), secure });
    expect(await failureOf(send(`${scheme}://${bad.host}`))).toMatchObject({
      permanent: false,
      message: expect.stringContaining('TLS certificate'),
    });
    expect(bad.mails).toHaveLength(0);
  }
});

test('without its settings it names the one that is missing, and sends nothing', async () => {
  const channel = (env: Record<string, string>) => createChannels(readConfig(env).delivery, { allow: [] }).email;
  expect(channel({}).missingSetting()).toBe('SMTP_URL');
  expect(channel({ SMTP_URL: 'smtp://127.0.0.1' }).missingSetting()).toBe('MAIL_FROM');
  expect(channel({ SMTP_URL: 'smtp://127.0.0.1', MAIL_FROM: from }).missingSetting()).toBeUndefined();
  expect(await failureOf(channel({}).send({ recipientEmail: 'ops@example.com' }, message))).toMatchObject({
    permanent: false,
    message: 'The operator of this service has not set SMTP_URL.',
  });
});
