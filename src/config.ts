import { isIP } from 'node:net';
import { resolve } from 'node:path';
import addressparser from 'nodemailer/lib/addressparser';
import { z } from 'zod';
import { isWellFormedKey } from './access/api-key.ts';

// The only reader of process.env. A setting that is not understood stops the start instead of being guessed at.

/** A bad setting, said so that an operator can mend it. */
export class BadSetting extends Error {}

/** Something the operator asked for cannot be done; said in one line. */
export class CannotDo extends Error {}

const whole = (min: number, max: number) =>
  z
    .string()
    .refine((text) => /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max, {
      message: `must be a whole number from ${min} to ${max}`,
    })
    .transform(Number);
const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).transform((url) => url.replace(/\/+$/, ''));
const postgresUrl = z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' });
const commaList = z.string().transform((text) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== ''),
);
// Nothing but where a service is: ours, or one that we call.
const serviceUrl = httpUrl.refine((text) => {
  const url = new URL(text);
  return `${url.username}${url.password}${url.search}${url.hash}` === '';
}, 'must hold no user name, password, query or fragment');
const proxyNames = ['loopback', 'linklocal', 'uniquelocal'];
const origin = (text: string) => text === '*' || (URL.canParse(text) && new URL(text).origin === text);

const settings = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: whole(0, 65_535).default(3000),
  DATA_DIR: z
    .string()
    .default('./data')
    .transform((folder) => resolve(folder)),
  DATABASE_URL: postgresUrl.optional(),
  MIGRATE_DATABASE_URL: postgresUrl.optional(),
  DATABASE_POOL_SIZE: whole(1, 1000).default(10),
  REDIS_URL: z.url({ protocol: /^rediss?$/, error: 'must be a redis:// or rediss:// URL' }).optional(),
  PUBLIC_URL: serviceUrl.optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  OWNER_EMAIL: z.email().max(254).default('owner@sitekeeper.localhost'),
  OWNER_PASSWORD: z.string().min(8).max(128).optional(),
  OWNER_API_KEY: z.string().refine(isWellFormedKey, 'is not a well-formed key ("sitekeeper key generate" prints one)').optional(),
  SIGNUP: z.enum(['open', 'closed']).default('closed'),
  RATE_LIMIT_PER_MINUTE: whole(1, 1_000_000).default(600),
  TRUSTED_PROXIES: commaList
    .refine((list) => list.every((entry) => proxyNames.includes(entry) || isAddressOrRange(entry)), {
      message: `must list IP addresses, CIDR ranges or ${proxyNames.join(', ')}`,
    })
    .default([]),
  CORS_ORIGINS: commaList
    .refine((list) => list.every(origin), { message: 'must be * or list origins such as https://app.example.com' })
    .default(['*']),
  SECRET_KEY: commaList
    .refine((list) => list.length > 0 && list.every(isSecret), {
      message: 'must be 32 random bytes in base64 (openssl rand -base64 32); older ones may follow after commas',
    })
    .optional(),
  MAX_WEBSITES: whole(0, 10_000_000).default(100_000),
  MAX_MONITORS: whole(0, 10_000_000).default(1000),
  MAX_PROVIDERS: whole(0, 1_000_000).default(100),
  RETENTION_DAYS: whole(1, 36_500).default(400),
  SMTP_URL: z
    .url({ protocol: /^smtps?$/, hostname: /./, error: 'must be an smtp:// or smtps:// URL', abort: true })
    .refine(hasReadableLogin, 'must be an smtp:// or smtps:// URL with its user name and password percent-encoded')
    .optional(),
  MAIL_FROM: z.string().transform(readMailbox).optional(),
  SLACK_HOSTS: commaList
    .refine((list) => list.every(isHostName), { message: 'must list host names, such as chat.example.com' })
    .transform((list) => list.map((name) => new URL(`https://${name}`).hostname))
    .default([]),
  TELEGRAM_API_URL: serviceUrl.default('https://api.telegram.org'),
  TWILIO_API_URL: serviceUrl.default('https://api.twilio.com'),
  TWILIO_ACCOUNT_SID: z
    .string()
    .regex(/^AC[0-9a-fA-F]{32}$/, 'must be AC and 32 hexadecimal digits')
    .optional(),
  TWILIO_AUTH_TOKEN: z
    .string()
    .regex(/^[!-~]{8,128}$/, 'must be 8 to 128 characters without blanks')
    .optional(),
  SMS_FROM: z.string().refine(isSmsSender, 'must be a number in E.164 form such as +15005550006, a short code, or a sender id').optional(),
  METRICS_PORT: whole(0, 65_535).optional(),
  METRICS_HOST: z.string().default('127.0.0.1'),
  METRICS_TOKEN: z
    .string()
    .regex(/^[!-~]{16,256}$/, 'must be 16 to 256 characters without blanks')
    .optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  OTEL_SERVICE_NAME: z.string().default('sitekeeper'),
  NET_ALLOW: commaList
    .refine((list) => list.every(isAddressOrRange), { message: 'must list IP addresses or CIDR ranges, such as 10.0.0.0/8' })
    .default([]),
});

export const settingNames = Object.keys(settings.shape);

export type Config = Readonly<{
  host: string;
  port: number;
  dataFolder: string;
  /** Absent: the embedded database in the data folder. */
  databaseUrl?: string;
  migrateDatabaseUrl?: string;
  databasePoolSize: number;
  /** Absent: each process counts limits for itself. */
  redisUrl?: string;
  /** Absent: the address listened on. */
  publicUrl?: string;
  logLevel: string;
  owner: Readonly<{ email: string; password?: string; apiKey?: string }>;
  signupOpen: boolean;
  rateLimitPerMinute: number;
  trustedProxies: string[];
  corsOrigins: string[];
  /** Newest first. Absent: one is kept in the data folder. */
  secretKeys?: Buffer[];
  maxWebsites: number;
  maxMonitors: number;
  maxProviders: number;
  /** How long statistics and sent alerts are kept. */
  retentionDays: number;
  delivery: DeliverySettings;
  /** Addresses and CIDR ranges that checks and webhooks may reach although they are not public. */
  netAllow: string[];
  metrics: MetricsSettings;
  /** Absent: no span is recorded. */
  tracing?: Readonly<{ endpoint: string; serviceName: string }>;
}>;

/** Who may read the metrics, and where: on a port of their own, or beside the APIs with a token, or nowhere. */
export type MetricsSettings = Readonly<{ host: string; port?: number; token?: string }>;

/** How messages leave. What is absent keeps its channel from sending. */
export type DeliverySettings = Readonly<{
  smtpUrl?: string;
  mailFrom?: Mailbox;
  /** Where a Slack webhook may be. */
  slackHosts: string[];
  telegramApiUrl: string;
  twilioApiUrl: string;
  twilioAccountSid?: string;
  twilioAuthToken?: string;
  smsFrom?: string;
}>;

export type Mailbox = Readonly<{ name: string; address: string }>;

export function readConfig(env: Record<string, string | undefined>): Config {
  // An empty variable is what compose files and CI make of an unset one.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = settings.safeParse(given);
  if (!parsed.success) throw new BadSetting(parsed.error.issues.map(describe).join('; '));
  const set = parsed.data;
  if (set.MIGRATE_DATABASE_URL && !set.DATABASE_URL) throw new BadSetting('MIGRATE_DATABASE_URL needs DATABASE_URL beside it');
  if (set.DATABASE_URL && !set.SECRET_KEY) {
    throw new BadSetting(
      'SECRET_KEY must be set beside DATABASE_URL: 32 random bytes in base64 (openssl rand -base64 32), the same for every process',
    );
  }
  if (!isLoopback(set.METRICS_HOST) && !set.METRICS_TOKEN) {
    throw new BadSetting('METRICS_HOST: must be on this machine unless METRICS_TOKEN is set, so that the metrics are not open by accident');
  }
  return {
    host: set.HOST,
    port: set.PORT,
    dataFolder: set.DATA_DIR,
    databasePoolSize: set.DATABASE_POOL_SIZE,
    logLevel: set.LOG_LEVEL,
    owner: {
      email: set.OWNER_EMAIL,
      ...(set.OWNER_PASSWORD && { password: set.OWNER_PASSWORD }),
      ...(set.OWNER_API_KEY && { apiKey: set.OWNER_API_KEY }),
    },
    signupOpen: set.SIGNUP === 'open',
    rateLimitPerMinute: set.RATE_LIMIT_PER_MINUTE,
    trustedProxies: set.TRUSTED_PROXIES,
    corsOrigins: set.CORS_ORIGINS,
    maxWebsites: set.MAX_WEBSITES,
    maxMonitors: set.MAX_MONITORS,
    maxProviders: set.MAX_PROVIDERS,
    retentionDays: set.RETENTION_DAYS,
    delivery: {
      slackHosts: ['hooks.slack.com', ...set.SLACK_HOSTS],
      telegramApiUrl: set.TELEGRAM_API_URL,
      twilioApiUrl: set.TWILIO_API_URL,
      ...(set.SMTP_URL && { smtpUrl: set.SMTP_URL }),
      ...(set.MAIL_FROM && { mailFrom: set.MAIL_FROM }),
      ...(set.TWILIO_ACCOUNT_SID && { twilioAccountSid: set.TWILIO_ACCOUNT_SID }),
      ...(set.TWILIO_AUTH_TOKEN && { twilioAuthToken: set.TWILIO_AUTH_TOKEN }),
      ...(set.SMS_FROM && { smsFrom: set.SMS_FROM }),
    },
    netAllow: set.NET_ALLOW,
    metrics: {
      host: set.METRICS_HOST,
      ...(set.METRICS_PORT !== undefined && { port: set.METRICS_PORT }),
      ...(set.METRICS_TOKEN && { token: set.METRICS_TOKEN }),
    },
    ...(set.DATABASE_URL && { databaseUrl: set.DATABASE_URL, migrateDatabaseUrl: set.MIGRATE_DATABASE_URL ?? set.DATABASE_URL }),
    ...(set.OTEL_EXPORTER_OTLP_ENDPOINT && {
      tracing: { endpoint: set.OTEL_EXPORTER_OTLP_ENDPOINT, serviceName: set.OTEL_SERVICE_NAME },
    }),
    ...(set.REDIS_URL && { redisUrl: set.REDIS_URL }),
    ...(set.PUBLIC_URL && { publicUrl: set.PUBLIC_URL }),
    ...(set.SECRET_KEY && { secretKeys: set.SECRET_KEY.map((key) => Buffer.from(key, 'base64')) }),
  };
}

// Values are not repeated: some of them are secrets.
function describe(issue: z.core.$ZodIssue): string {
  const message = issue.code === 'custom' ? issue.message : issue.message.replace(/^Invalid input: /, '');
  return `${String(issue.path[0])}: ${message}`;
}

function isAddressOrRange(entry: string): boolean {
  const [address = '', bits, rest] = entry.split('/');
  const family = isIP(address);
  if (family === 0 || rest !== undefined) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host);
}

function isSecret(key: string): boolean {
  return /^[A-Za-z0-9+/]{43}=$/.test(key);
}

function hasReadableLogin(text: string): boolean {
  try {
    const { username, password } = new URL(text);
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

/** `alerts@example.com` or `Sitekeeper <alerts@example.com>`. */
function readMailbox(text: string, context: z.RefinementCtx): Mailbox {
  const [mailbox, second] = addressparser(text);
  const isOne = mailbox?.address !== undefined && second === undefined && !/\p{Cc}/u.test(text);
  if (isOne && z.email().max(254).safeParse(mailbox.address).success) return mailbox;
  context.addIssue({ code: 'custom', message: 'must be one e-mail address, such as Sitekeeper <alerts@example.com>' });
  return z.NEVER;
}

function isHostName(text: string): boolean {
  return !/[\s/\\:?#@[\]]/.test(text) && URL.canParse(`https://${text}`);
}

function isSmsSender(text: string): boolean {
  return (
    /^\+[1-9]\d{1,14}$/.test(text) || /^\d{3,8}$/.test(text) || (/^[A-Za-z0-9][A-Za-z0-9 &+_-]{0,10}$/.test(text) && /[A-Za-z]/.test(text))
  );
}
