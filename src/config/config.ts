import { z } from 'zod';
import { ConfigError } from './config-error.ts';
import { certificateFile, privateKeyFile } from './pem-file.ts';
import { readSecretFiles } from './secret-files.ts';
import * as value from './setting-values.ts';

// The only code in src/ that reads environment variables. An invalid value stops the process; it is never replaced by a default.

export { ConfigError };

const settingsSchema = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: value.whole(0, 65_535).default(3000),
  DATA_DIR: value.directory.prefault('./data'),
  DATABASE_URL: value.postgresUrl.optional(),
  MIGRATE_DATABASE_URL: value.postgresUrl.optional(),
  DATABASE_POOL_SIZE: value.whole(1, 1000).default(10),
  REDIS_URL: value.redisUrl.optional(),
  PUBLIC_URL: value.serviceUrl.optional(),
  LOG_LEVEL: value.oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent').default('info'),
  OWNER_EMAIL: value.email.default('owner@sitekeeper.localhost'),
  OWNER_PASSWORD: value.password.optional(),
  OWNER_API_KEY: value.apiKey.optional(),
  SIGNUP: value.oneOf('open', 'closed').default('closed'),
  REQUIRE_CONFIRMED_RECIPIENTS: value.oneOf('0', '1').optional(),
  RATE_LIMIT_PER_MINUTE: value.whole(1, 1_000_000).default(600),
  TRUSTED_PROXIES: value.proxies.default({ addresses: [], hops: 1 }),
  CORS_ORIGINS: value.origins.default(['*']),
  SECRET_KEY: value.secretKeys.optional(),
  MAX_WEBSITES: value.whole(0, 10_000_000).default(100_000),
  MAX_MONITORS: value.whole(0, 10_000_000).default(1000),
  MAX_PROVIDERS: value.whole(0, 1_000_000).default(100),
  SMS_PER_USER_PER_DAY: value.whole(0, 1_000_000).default(50),
  RETENTION_DAYS: value.whole(1, 36_500).default(400),
  INSTALLATION_NAME: value.displayName.default('Sitekeeper'),
  SMTP_URL: value.smtpUrl.optional(),
  MAIL_FROM: value.mailbox.optional(),
  SLACK_HOSTS: value.hostNames.default([]),
  DISCORD_HOSTS: value.hostNames.default([]),
  TEAMS_HOSTS: value.hostNames.default([]),
  PAGERDUTY_API_URL: value.serviceUrl.default('https://events.pagerduty.com'),
  TELEGRAM_API_URL: value.serviceUrl.default('https://api.telegram.org'),
  TWILIO_API_URL: value.serviceUrl.default('https://api.twilio.com'),
  TWILIO_ACCOUNT_SID: value.twilioAccount.optional(),
  TWILIO_AUTH_TOKEN: value.token(8, 128).optional(),
  SMS_FROM: value.smsSender.optional(),
  METRICS_PORT: value.whole(0, 65_535).optional(),
  METRICS_HOST: z.string().default('127.0.0.1'),
  METRICS_TOKEN: value.token(16, 256).optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: value.httpUrl.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: value.httpUrl.optional(),
  OTEL_EXPORTER_OTLP_HEADERS: value.pairs.default({}),
  // The exporter reads the next five itself. They are here because it would only warn of an invalid value, and use another.
  OTEL_EXPORTER_OTLP_TIMEOUT: value.whole(1, 600_000).optional(),
  OTEL_EXPORTER_OTLP_COMPRESSION: value.oneOf('none', 'gzip').optional(),
  OTEL_EXPORTER_OTLP_CERTIFICATE: certificateFile.optional(),
  OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: certificateFile.optional(),
  OTEL_EXPORTER_OTLP_CLIENT_KEY: privateKeyFile.optional(),
  OTEL_SERVICE_NAME: z.string().optional(),
  OTEL_RESOURCE_ATTRIBUTES: value.pairs.default({}),
  OTEL_TRACES_SAMPLER: value.sampler.prefault('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: value.fraction.default(1),
  NET_ALLOW: value.addressRanges.default([]),
  CONNECTIVITY_CHECK: value.tcpAddress.optional(),
});

export const settingNames = Object.keys(settingsSchema.shape);

export type Config = Readonly<{
  host: string;
  port: number;
  dataDirectory: string;
  /** If absent, the embedded database in the data directory is used. */
  databaseUrl?: string;
  /** The login of the database owner. If absent, processes do not migrate a PostgreSQL server. */
  migrateDatabaseUrl?: string;
  databasePoolSize: number;
  /** If absent, each process counts limits on its own. */
  redisUrl?: string;
  /** If absent, the address that the service listens on is used. */
  publicUrl?: string;
  logLevel: string;
  owner: Readonly<{ email: string; password?: string; apiKey?: string }>;
  signupOpen: boolean;
  /** Whether the recipient of an e-mail provider must confirm the address before alerts are sent to it. */
  confirmRecipients: boolean;
  rateLimitPerMinute: number;
  /** The addresses that a proxy can have. If empty, X-Forwarded-For is ignored. */
  trustedProxies: string[] | 'any';
  /** The number of proxies that a request passes through. */
  proxyHops: number;
  corsOrigins: string[];
  /** Newest first. If absent, the key in the data directory is used. */
  secretKeys?: Buffer[];
  maxWebsites: number;
  maxMonitors: number;
  maxProviders: number;
  /** How long statistics and sent alerts are stored. */
  retentionDays: number;
  delivery: DeliverySettings;
  /** Addresses and CIDR ranges that checks and webhooks can reach although they are not public. */
  netAllow: string[];
  /** What is always reachable while this machine has a network. If absent, monitors are compared with each other. */
  connectivityCheck?: Readonly<{ host: string; port: number }>;
  metrics: MetricsSettings;
  /** If absent, no spans are recorded. */
  tracing?: TracingSettings;
}>;

/** Where spans are sent to, and how many. */
export type TracingSettings = Readonly<{
  url: string;
  headers: Record<string, string>;
  serviceName: string;
  /** What describes this installation, such as deployment.environment.name. */
  resource: Record<string, string>;
  sampler: value.SamplerName;
  sampleRatio: number;
}>;

/** Metrics are served on a separate port, on the port of the APIs with a token, or not at all. */
export type MetricsSettings = Readonly<{ host: string; port?: number; token?: string }>;

/** The settings of the channels. A channel whose settings are absent cannot send. */
export type DeliverySettings = Readonly<{
  /** Messages end with it, so that readers know which installation has sent them. */
  installationName: string;
  smtpUrl?: string;
  mailFrom?: value.Mailbox;
  /** The hosts that a Slack webhook URL can have. */
  slackHosts: string[];
  /** The hosts that a Discord webhook URL can have. */
  discordHosts: string[];
  /** The hosts that a Teams webhook URL can have. `*.example.com` stands for every name that ends with `.example.com`. */
  teamsHosts: string[];
  pagerDutyApiUrl: string;
  telegramApiUrl: string;
  twilioApiUrl: string;
  twilioAccountSid?: string;
  twilioAuthToken?: string;
  smsFrom?: string;
  /** Alerts and test notifications together. The recovery of an alert that was sent is sent in any case. */
  smsPerUserPerDay: number;
}>;

/** The programs of Discord show the URL of a webhook with the host that they use themselves. */
const discordHosts = ['discord.com', 'ptb.discord.com', 'canary.discord.com', 'discordapp.com'];
/** Workflows of Power Automate, those with a URL from before 2026, and connectors of Office 365. */
const teamsHosts = ['*.api.powerplatform.com', '*.logic.azure.com', '*.webhook.office.com'];

interface ReadOptions {
  /** Whether a PostgreSQL server requires SECRET_KEY. Migrations do not encrypt anything. */
  needsSecretKey?: boolean;
}

export function readConfig(env: Record<string, string | undefined> = process.env, { needsSecretKey = true }: ReadOptions = {}): Config {
  // Compose files and CI systems pass an unset variable as an empty one.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = settingsSchema.safeParse({ ...given, ...readSecretFiles(given) });
  if (!parsed.success) throw new ConfigError(describeIssues(parsed.error.issues));
  const set = parsed.data;
  const conflicts = findConflicts(set, needsSecretKey);
  if (conflicts.length > 0) throw new ConfigError(conflicts.join('\n'));
  const collector = set.OTEL_EXPORTER_OTLP_ENDPOINT;
  const tracesUrl = set.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? (collector && `${collector}/v1/traces`);
  return {
    host: set.HOST,
    port: set.PORT,
    dataDirectory: set.DATA_DIR,
    databasePoolSize: set.DATABASE_POOL_SIZE,
    logLevel: set.LOG_LEVEL,
    owner: {
      email: set.OWNER_EMAIL,
      ...(set.OWNER_PASSWORD && { password: set.OWNER_PASSWORD }),
      ...(set.OWNER_API_KEY && { apiKey: set.OWNER_API_KEY }),
    },
    signupOpen: set.SIGNUP === 'open',
    confirmRecipients: set.REQUIRE_CONFIRMED_RECIPIENTS === undefined ? set.SIGNUP === 'open' : set.REQUIRE_CONFIRMED_RECIPIENTS === '1',
    rateLimitPerMinute: set.RATE_LIMIT_PER_MINUTE,
    trustedProxies: set.TRUSTED_PROXIES.addresses,
    proxyHops: set.TRUSTED_PROXIES.hops,
    corsOrigins: set.CORS_ORIGINS,
    maxWebsites: set.MAX_WEBSITES,
    maxMonitors: set.MAX_MONITORS,
    maxProviders: set.MAX_PROVIDERS,
    retentionDays: set.RETENTION_DAYS,
    delivery: {
      installationName: set.INSTALLATION_NAME,
      slackHosts: ['hooks.slack.com', ...set.SLACK_HOSTS],
      discordHosts: [...discordHosts, ...set.DISCORD_HOSTS],
      teamsHosts: [...teamsHosts, ...set.TEAMS_HOSTS],
      pagerDutyApiUrl: set.PAGERDUTY_API_URL,
      telegramApiUrl: set.TELEGRAM_API_URL,
      twilioApiUrl: set.TWILIO_API_URL,
      smsPerUserPerDay: set.SMS_PER_USER_PER_DAY,
      ...(set.SMTP_URL && { smtpUrl: set.SMTP_URL }),
      ...(set.MAIL_FROM && { mailFrom: set.MAIL_FROM }),
      ...(set.TWILIO_ACCOUNT_SID && { twilioAccountSid: set.TWILIO_ACCOUNT_SID }),
      ...(set.TWILIO_AUTH_TOKEN && { twilioAuthToken: set.TWILIO_AUTH_TOKEN }),
      ...(set.SMS_FROM && { smsFrom: set.SMS_FROM }),
    },
    netAllow: set.NET_ALLOW,
    ...(set.CONNECTIVITY_CHECK && { connectivityCheck: set.CONNECTIVITY_CHECK }),
    metrics: {
      host: set.METRICS_HOST,
      ...(set.METRICS_PORT !== undefined && { port: set.METRICS_PORT }),
      ...(set.METRICS_TOKEN && { token: set.METRICS_TOKEN }),
    },
    ...(set.DATABASE_URL && { databaseUrl: set.DATABASE_URL }),
    ...(set.MIGRATE_DATABASE_URL && { migrateDatabaseUrl: set.MIGRATE_DATABASE_URL }),
    ...(tracesUrl && {
      tracing: {
        url: tracesUrl,
        headers: set.OTEL_EXPORTER_OTLP_HEADERS,
        serviceName: set.OTEL_SERVICE_NAME ?? set.OTEL_RESOURCE_ATTRIBUTES['service.name'] ?? 'sitekeeper',
        resource: set.OTEL_RESOURCE_ATTRIBUTES,
        sampler: set.OTEL_TRACES_SAMPLER,
        sampleRatio: set.OTEL_TRACES_SAMPLER_ARG,
      },
    }),
    ...(set.REDIS_URL && { redisUrl: set.REDIS_URL }),
    ...(set.PUBLIC_URL && { publicUrl: set.PUBLIC_URL }),
    ...(set.SECRET_KEY && { secretKeys: set.SECRET_KEY.map((key) => Buffer.from(key, 'base64')) }),
  };
}

/**
 * Drops the login of the database owner after migrating: from the environment, which a worker of a cluster would inherit, and from
 * the returned settings.
 */
export function forgetOwnerLogin({ migrateDatabaseUrl, ...config }: Config): Config {
  delete process.env.MIGRATE_DATABASE_URL;
  delete process.env.MIGRATE_DATABASE_URL_FILE;
  return config;
}

/** Whether npm started this process: `npm start` sets this variable. */
export function isStartedByNpm(): boolean {
  return process.env.npm_lifecycle_event !== undefined;
}

/** The device and the inode of the journal, if systemd has connected this process to it. */
export function journalStream(): string | undefined {
  return process.env.JOURNAL_STREAM;
}

/** The variable in which the primary of a cluster tells each worker its number. */
export const workerVariable = 'SITEKEEPER_WORKER';

/** The number of this worker of a cluster. A replacement has the number of the worker that it replaces. */
export function workerNumber(): number | undefined {
  const number = process.env[workerVariable];
  return number === undefined ? undefined : Number(number);
}

/** Describes the first issue of each setting. The message does not contain the value, because it may be a secret. */
function describeIssues(issues: z.core.$ZodIssue[]): string {
  const bySetting = Map.groupBy(issues, ({ path }) => String(path[0]));
  return [...bySetting].map(([name, [issue]]) => `${name}: ${issue?.message}`).join('\n');
}

/** Returns what is wrong with settings that are valid on their own. */
function findConflicts(set: z.infer<typeof settingsSchema>, needsSecretKey: boolean): string[] {
  const conflicts: string[] = [];
  if (set.MIGRATE_DATABASE_URL && !set.DATABASE_URL) conflicts.push('MIGRATE_DATABASE_URL: requires DATABASE_URL');
  if (needsSecretKey && set.DATABASE_URL && !set.SECRET_KEY) {
    conflicts.push(
      'SECRET_KEY: is required with DATABASE_URL. Set 32 random bytes in base64 (openssl rand -base64 32), the same for every process',
    );
  }
  if (!isLoopback(set.METRICS_HOST) && !set.METRICS_TOKEN) {
    conflicts.push('METRICS_HOST: must be a loopback address unless METRICS_TOKEN is set, so that metrics are not exposed by accident');
  }
  return conflicts;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host);
}
