import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ConfigError, readConfig, settingNames } from '../../src/config/config.ts';
import { loginOf, withLogin } from '../../src/config/postgres-url.ts';
import { createAuthority } from '../support/certificates.ts';

test('docs/configuration.md has one row for each setting', () => {
  const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
  expect(page.match(/(?<=^\| `)\w+/gm)?.sort()).toEqual(settingNames.toSorted());
});

test('by default, the service is local and closed, with the limits of the docs', () => {
  expect(readConfig({})).toMatchObject({
    host: '127.0.0.1',
    port: 3000,
    signupOpen: false,
    rateLimitPerMinute: 600,
    trustedProxies: [],
    corsOrigins: ['*'],
    maxWebsites: 100_000,
    maxMonitors: 1000,
    maxProviders: 100,
    retentionDays: 400,
    databasePoolSize: 10,
    metrics: { host: '127.0.0.1' },
  });
  expect(readConfig({ SIGNUP: 'open' }).signupOpen).toBe(true);
});

test('recipients must confirm their address with open sign-up, unless the setting says otherwise', () => {
  const required = (env: Record<string, string>) => readConfig(env).confirmRecipients;
  expect([required({}), required({ SIGNUP: 'open' })]).toEqual([false, true]);
  expect([required({ SIGNUP: 'open', REQUIRE_CONFIRMED_RECIPIENTS: '0' }), required({ REQUIRE_CONFIRMED_RECIPIENTS: '1' })]).toEqual([
    false,
    true,
  ]);
  expect(() => readConfig({ REQUIRE_CONFIRMED_RECIPIENTS: 'yes' })).toThrow(/^REQUIRE_CONFIRMED_RECIPIENTS: /);
});

test.each([
  ['METRICS_HOST', { METRICS_HOST: '0.0.0.0' }, { METRICS_TOKEN: 'x'.repeat(16) }],
  ['SECRET_KEY', { DATABASE_URL: 'postgres://sitekeeper@127.0.0.1/sitekeeper' }, { SECRET_KEY: `${'A'.repeat(43)}=` }],
  ['MIGRATE_DATABASE_URL', { MIGRATE_DATABASE_URL: 'postgres://owner@127.0.0.1/sitekeeper' }, undefined],
])('%s is rejected with settings that do not fit', (name, settings, missing) => {
  expect(() => readConfig(settings)).toThrow(new RegExp(`^${name}: `));
  if (missing) expect(() => readConfig({ ...settings, ...missing })).not.toThrow();
});

test.each([
  ['SECRET_KEY', `${'A'.repeat(42)}==`],
  ['SECRET_KEY', 'short'],
  ['OWNER_PASSWORD', 'x'.repeat(7)],
  ['OWNER_PASSWORD', 'x'.repeat(129)],
  ['METRICS_TOKEN', 'x'.repeat(15)],
  ['OWNER_API_KEY', 'stkp_EXAMPLEexampleEXAMPLEexample01234567'],
])('%s is rejected if it is too weak or malformed (%s)', (name, value) => {
  expect(() => readConfig({ [name]: value })).toThrow(new RegExp(`^${name}: must `));
});

describe('delivery settings', () => {
  test('by default, chats and PagerDuty use their public APIs, and e-mail and SMS are not configured', () => {
    expect(readConfig({})).toMatchObject({ netAllow: [] });
    expect(readConfig({}).delivery).toEqual({
      installationName: 'Sitekeeper',
      slackHosts: ['hooks.slack.com'],
      discordHosts: ['discord.com', 'ptb.discord.com', 'canary.discord.com', 'discordapp.com'],
      teamsHosts: ['*.api.powerplatform.com', '*.logic.azure.com', '*.webhook.office.com'],
      pagerDutyApiUrl: 'https://events.pagerduty.com',
      telegramApiUrl: 'https://api.telegram.org',
      twilioApiUrl: 'https://api.twilio.com',
      smsPerUserPerDay: 50,
    });
  });

  test('reads every delivery setting', () => {
    const config = readConfig({
      INSTALLATION_NAME: 'Northwind – Ops',
      SMTP_URL: 'smtps://user:p%40ss@mail.example.com:465?tls.servername=mail',
      MAIL_FROM: '"Keeper, Site" <alerts@example.com>',
      SLACK_HOSTS: 'Chat.Example.com, bücher.example',
      DISCORD_HOSTS: 'guild.example.com',
      TEAMS_HOSTS: '*.Flows.Example.com, flows.example.org',
      PAGERDUTY_API_URL: 'https://events.eu.pagerduty.com/',
      TELEGRAM_API_URL: 'http://127.0.0.1:8081/bots/',
      TWILIO_API_URL: 'http://127.0.0.1:8082',
      TWILIO_ACCOUNT_SID: `AC${'0'.repeat(32)}`,
      TWILIO_AUTH_TOKEN: 'f'.repeat(32),
      SMS_FROM: '+15005550006',
      SMS_PER_USER_PER_DAY: '7',
      NET_ALLOW: '10.0.0.0/8, ::1,192.168.1.7',
    });
    expect(config.netAllow).toEqual(['10.0.0.0/8', '::1', '192.168.1.7']);
    expect(config.delivery).toEqual({
      installationName: 'Northwind – Ops',
      smtpUrl: 'smtps://user:p%40ss@mail.example.com:465?tls.servername=mail',
      mailFrom: { name: 'Keeper, Site', address: 'alerts@example.com' },
      slackHosts: ['hooks.slack.com', 'chat.example.com', 'xn--bcher-kva.example'],
      discordHosts: ['discord.com', 'ptb.discord.com', 'canary.discord.com', 'discordapp.com', 'guild.example.com'],
      teamsHosts: ['*.api.powerplatform.com', '*.logic.azure.com', '*.webhook.office.com', '*.flows.example.com', 'flows.example.org'],
      pagerDutyApiUrl: 'https://events.eu.pagerduty.com',
      telegramApiUrl: 'http://127.0.0.1:8081/bots',
      twilioApiUrl: 'http://127.0.0.1:8082',
      twilioAccountSid: `AC${'0'.repeat(32)}`,
      twilioAuthToken: 'f'.repeat(32),
      smsFrom: '+15005550006',
      smsPerUserPerDay: 7,
    });
  });

  test.each(['+15005550006', '12345', 'Sitekeeper', 'A 1'])('accepts %j for SMS_FROM', (SMS_FROM) =>
    expect(readConfig({ SMS_FROM }).delivery.smsFrom).toBe(SMS_FROM),
  );

  test.each([
    ['INSTALLATION_NAME', ' '],
    ['INSTALLATION_NAME', 'two\nlines'],
    ['INSTALLATION_NAME', 'x'.repeat(61)],
    ['SMTP_URL', 'http://hidden@mail.example.com'],
    ['SMTP_URL', 'smtp:hidden'],
    ['SMTP_URL', 'smtp://'],
    ['SMTP_URL', 'smtp://me:hidden%@mail.example.com'],
    ['MAIL_FROM', 'hidden'],
    ['MAIL_FROM', 'hidden@example.com, b@example.com'],
    ['MAIL_FROM', 'Hidden <a@example.com>\r\nBcc: b@example.com'],
    ['SLACK_HOSTS', 'https://hidden.example.com/'],
    ['SLACK_HOSTS', 'hidden.example.com:8065'],
    ['DISCORD_HOSTS', 'https://hidden.example.com/'],
    ['TEAMS_HOSTS', '*.hidden.example.com/x'],
    ['PAGERDUTY_API_URL', 'events.hidden.example'],
    ['TELEGRAM_API_URL', 'api.hidden.example'],
    ['TELEGRAM_API_URL', 'https://me:hidden@telegram.example'],
    ['TWILIO_API_URL', 'https://twilio.example?token=hidden'],
    ['TWILIO_ACCOUNT_SID', 'hidden'],
    ['TWILIO_AUTH_TOKEN', 'hid den-hidden'],
    ['SMS_FROM', '+0hidden'],
    ['SMS_FROM', 'hidden, but far too long'],
    ['NET_ALLOW', '10.0.0.0/33'],
    ['METRICS_TOKEN', 'hidden'],
    ['METRICS_HOST', '0.0.0.0'],
    ['NET_ALLOW', 'hidden.example.com'],
    ['CONNECTIVITY_CHECK', 'hidden.example.com'],
    ['CONNECTIVITY_CHECK', 'hidden.example.com:0'],
    ['CONNECTIVITY_CHECK', 'hidden.example.com:65536'],
    ['CONNECTIVITY_CHECK', 'hidden@example.com:443'],
    ['CONNECTIVITY_CHECK', 'https://hidden.example.com:443'],
    ['CONNECTIVITY_CHECK', '2001:db8::1:443'],
  ])('rejects %s=%j, with a message that does not contain the value', (name, value) => {
    const read = () => readConfig({ [name]: value });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(new RegExp(`^${name}: must `));
    expect(read).not.toThrow(/hidden/i);
  });

  test('reports one error for each setting', () =>
    expect(() => readConfig({ SMTP_URL: 'mail.example.com' })).toThrow(/^SMTP_URL: must be an smtp:\/\/ or smtps:\/\/ URL$/));
});

test.each([
  ['192.0.2.1:443', { host: '192.0.2.1', port: 443 }],
  ['[2001:DB8::1]:53', { host: '2001:db8::1', port: 53 }],
  ['Gateway.example.com:22', { host: 'Gateway.example.com', port: 22 }],
])('CONNECTIVITY_CHECK=%s is a host and a port', (text, address) => {
  expect(readConfig({ CONNECTIVITY_CHECK: text }).connectivityCheck).toEqual(address);
});

describe('TRUSTED_PROXIES', () => {
  test.each([
    ['', [], 1],
    ['1', 'any', 1],
    ['2', 'any', 2],
    ['loopback', ['loopback'], 1],
    ['10.0.0.7, 2, fd00::/8', ['10.0.0.7', 'fd00::/8'], 2],
  ])('%j is read as addresses and a number of proxies', (TRUSTED_PROXIES, trustedProxies, proxyHops) =>
    expect(readConfig({ TRUSTED_PROXIES })).toMatchObject({ trustedProxies, proxyHops }),
  );

  test.each(['0', '11', '1,2', '-1', 'true', 'proxy.example.com', '10.0.0.0/33', '0.0.0.0/0', '64:ff9b::192.0.2.1'])(
    'rejects %j',
    (TRUSTED_PROXIES) =>
      expect(() => readConfig({ TRUSTED_PROXIES })).toThrow(/^TRUSTED_PROXIES: must be a list of IP addresses, CIDR ranges or the names/),
  );
});

test.each(['*,https://a.example', 'https://a.example,*', '*,*', 'https://a.example/', 'a.example'])(
  'CORS_ORIGINS=%s is rejected',
  (CORS_ORIGINS) => expect(() => readConfig({ CORS_ORIGINS })).toThrow(/^CORS_ORIGINS: must be either \* or a list of origins/),
);

describe('the settings that the exporter of OpenTelemetry reads itself', () => {
  const ownFile = import.meta.filename;

  test.each([
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: 'soon' }, 'must be a whole number from 1 to 600000'],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: '0' }, 'must be a whole number from 1 to 600000'],
    [{ OTEL_EXPORTER_OTLP_COMPRESSION: 'brotli' }, 'must be one of none, gzip'],
    [{ OTEL_EXPORTER_OTLP_CERTIFICATE: '/missing.pem' }, 'cannot use the file /missing.pem: ENOENT: no such file or directory'],
    [{ OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: '/dev/null' }, 'cannot use the file /dev/null: it is not a regular file'],
    [{ OTEL_EXPORTER_OTLP_CERTIFICATE: ownFile }, `cannot use the file ${ownFile}: it does not contain certificates in PEM format`],
    [{ OTEL_EXPORTER_OTLP_CLIENT_KEY: ownFile }, `cannot use the file ${ownFile}: it does not contain a private key in PEM format`],
  ])('%j is rejected', (settings, message) => {
    expect(() => readConfig(settings)).toThrow(`${Object.keys(settings)[0]}: ${message}`);
  });

  test('certificates and a key in PEM format are accepted', async ({ onTestFinished }) => {
    const folder = mkdtempSync(join(tmpdir(), 'sitekeeper-pem-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const { cert, key } = await createAuthority();
    const [certificate, privateKey] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    writeFileSync(certificate, `${cert}\n${cert}`);
    writeFileSync(privateKey, key);
    readConfig({
      OTEL_EXPORTER_OTLP_TIMEOUT: '5000',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_EXPORTER_OTLP_CERTIFICATE: certificate,
      OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: certificate,
      OTEL_EXPORTER_OTLP_CLIENT_KEY: privateKey,
    });
  });
});

describe('PUBLIC_URL', () => {
  test('can have a path', () =>
    expect(readConfig({ PUBLIC_URL: 'https://example.com/inner/' })).toMatchObject({ publicUrl: 'https://example.com/inner' }));

  test('loses its trailing slash', () =>
    expect(readConfig({ PUBLIC_URL: 'https://sitekeeper.example.com/' })).toMatchObject({ publicUrl: 'https://sitekeeper.example.com' }));

  test.each([
    'sitekeeper.example.com',
    'https://me:hidden@sitekeeper.example.com',
    'https://sitekeeper.example.com/?a=b',
    'https://a.example/#b',
  ])('rejects %j, because paths are appended to it', (PUBLIC_URL) =>
    expect(() => readConfig({ PUBLIC_URL })).toThrow(/^PUBLIC_URL: must (?!.*hidden)/),
  );
});

describe('DATABASE_URL', () => {
  const read = (DATABASE_URL: string) => readConfig({ DATABASE_URL, SECRET_KEY: Buffer.alloc(32).toString('base64') }).databaseUrl;

  test.each([
    'postgres://user:p%40ss@db.example.com/sitekeeper',
    'postgresql://user:p,ss@db.example.com:5432/sitekeeper?sslmode=require&options=-c%20work_mem%3D5MB',
    'postgres://user:p,ss@one.example.com,two.example.com:5433,192.0.2.3/sitekeeper?target_session_attrs=read-write',
    'postgres://user@[2001:db8::1]:5432,[2001:db8::2]/sitekeeper?sslmode=require&target_session_attrs=primary',
  ])('accepts %s', (url) => expect(read(url)).toBe(url));

  test.each([
    ['http://hidden.example.com/sitekeeper', 'must be a postgres:// URL'],
    ['postgres://hidden', 'must end with the name of a database, such as /sitekeeper'],
    ['postgres://hidden/?sslmode=require', 'must end with the name of a database, such as /sitekeeper'],
    ['postgres://hidden:70000,two/sitekeeper?target_session_attrs=read-write', 'must be a postgres:// URL'],
    ['postgres://hidden,[::1/sitekeeper?target_session_attrs=read-write', 'must be a postgres:// URL'],
    ['postgres://hidden,/sitekeeper?target_session_attrs=read-write', 'must have a host before and after each comma'],
    [
      'postgres://hidden,two/sitekeeper',
      'must end with ?target_session_attrs=read-write if it has several hosts, because the service writes',
    ],
    ['postgres://hidden/sitekeeper?target_session_attrs=standby', 'must have a target_session_attrs of read-write, primary or any'],
  ])('rejects %s', (url, message) => expect(() => read(url)).toThrow(new ConfigError(`DATABASE_URL: ${message}`)));
});

test('withLogin replaces a login before the host, and one in parameters', () => {
  const parameters = 'sslmode=require&user=owner&pass%77ord=hidden&target_session_attrs=read-write';
  expect(withLogin(`postgres://owner:hidden@one,two/sitekeeper?${parameters}`, 'other:…')).toBe(
    'postgres://other:…@one,two/sitekeeper?sslmode=require&target_session_attrs=read-write',
  );
  expect(withLogin('postgres://one/sitekeeper?user=owner', 'other')).toBe('postgres://other@one/sitekeeper');
  expect(loginOf('postgres://one/sitekeeper?user=owner')).toBe('owner');
});

test('a REDIS_URL whose password is not percent-encoded is rejected by its name', () => {
  expect(() => readConfig({ REDIS_URL: 'redis://:hid%den@127.0.0.1' })).toThrow(
    new ConfigError('REDIS_URL: must be a redis:// or rediss:// URL with its user name and password percent-encoded'),
  );
});
