import { z } from 'zod';
import * as value from './setting-values.ts';

// The only reader of process.env. A setting that is not understood stops the start instead of being guessed at.

/** A bad setting, said so that an operator can mend it. */
export class BadSetting extends Error {}

/** Something the operator asked for cannot be done; said in one line. */
export class CannotDo extends Error {}

const settings = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: value.whole(0, 65_535).default(3000),
  DATA_DIR: value.folder.prefault('./data'),
  DATABASE_URL: value.postgresUrl.optional(),
  MIGRATE_DATABASE_URL: value.postgresUrl.optional(),
  DATABASE_POOL_SIZE: value.whole(1, 1000).default(10),
  REDIS_URL: value.redisUrl.optional(),
  PUBLIC_URL: value.serviceUrl.optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  OWNER_EMAIL: value.email.default('owner@sitekeeper.localhost'),
  OWNER_PASSWORD: z.string().min(8).max(128).optional(),
  OWNER_API_KEY: value.apiKey.optional(),
  SIGNUP: z.enum(['open', 'closed']).default('closed'),
  RATE_LIMIT_PER_MINUTE: value.whole(1, 1_000_000).default(600),
  TRUSTED_PROXIES: value.proxies.default([]),
  CORS_ORIGINS: value.origins.default(['*']),
  SECRET_KEY: value.secrets.optional(),
  MAX_WEBSITES: value.whole(0, 10_000_000).default(100_000),
  MAX_MONITORS: value.whole(0, 10_000_000).default(1000),
  MAX_PROVIDERS: value.whole(0, 1_000_000).default(100),
  RETENTION_DAYS: value.whole(1, 36_500).default(400),
  SMTP_URL: value.smtpUrl.optional(),
  MAIL_FROM: value.mailbox.optional(),
  SLACK_HOSTS: value.hostNames.default([]),
  TELEGRAM_API_URL: value.serviceUrl.default('https://api.telegram.org'),
  TWILIO_API_URL: value.serviceUrl.default('https://api.twilio.com'),
  TWILIO_ACCOUNT_SID: value.twilioAccount.optional(),
  TWILIO_AUTH_TOKEN: value.token(8, 128).optional(),
  SMS_FROM: value.smsSender.optional(),
  METRICS_PORT: value.whole(0, 65_535).optional(),
  METRICS_HOST: z.string().default('127.0.0.1'),
  METRICS_TOKEN: value.token(16, 256).optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: value.httpUrl.optional(),
  OTEL_SERVICE_NAME: z.string().default('sitekeeper'),
  NET_ALLOW: value.addressRanges.default([]),
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
  mailFrom?: value.Mailbox;
  /** Where a Slack webhook may be. */
  slackHosts: string[];
  telegramApiUrl: string;
  twilioApiUrl: string;
  twilioAccountSid?: string;
  twilioAuthToken?: string;
  smsFrom?: string;
}>;

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

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host);
}
