import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import addressparser from 'nodemailer/lib/addressparser';
import { z } from 'zod';
import { isWellFormedKey } from '../auth/api-key.ts';
import { findUrlError } from './postgres-url.ts';

// Schemas for the values of settings, each with the message for an invalid value.

export const whole = (min: number, max: number) =>
  z
    .string()
    .refine((text) => /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max, {
      message: `must be a whole number from ${min} to ${max}`,
    })
    .transform(Number);

export const directory = z.string().transform((path) => resolve(path));

export const token = (min: number, max: number) =>
  z.string().regex(new RegExp(`^[!-~]{${min},${max}}$`), `must have ${min} to ${max} printable ASCII characters and no spaces`);

export const apiKey = z.string().refine(isWellFormedKey, 'must be a well-formed API key ("sitekeeper key generate" prints one)');

export const postgresUrl = z.string().superRefine((url, context) => {
  const message = findUrlError(url);
  if (message) context.addIssue(message);
});

export const redisUrl = z
  .url({ protocol: /^rediss?$/, error: 'must be a redis:// or rediss:// URL', abort: true })
  .refine(hasValidLogin, 'must be a redis:// or rediss:// URL with its user name and password percent-encoded');

export const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).transform((url) => url.replace(/\/+$/, ''));

/** The base URL of this service or of one that it calls. */
export const serviceUrl = httpUrl.refine((text) => {
  const url = new URL(text);
  return `${url.username}${url.password}${url.search}${url.hash}` === '';
}, 'must not contain a user name, password, query or fragment');

export const smtpUrl = z
  .url({ protocol: /^smtps?$/, hostname: /./, error: 'must be an smtp:// or smtps:// URL', abort: true })
  .refine(hasValidLogin, 'must be an smtp:// or smtps:// URL with its user name and password percent-encoded');

export const oneOf = <const Values extends [string, ...string[]]>(...values: Values) =>
  z.enum(values, { error: `must be one of ${values.join(', ')}` });

export const password = z.string().refine((text) => text.length >= 8 && text.length <= 128, 'must have 8 to 128 characters');

/** The format of the contract, so that every configured address can sign in. */
export const email = z
  .string()
  .max(254, 'must have at most 254 characters')
  .regex(fullFormats.email as RegExp, 'must be an e-mail address');

export type Mailbox = Readonly<{ name: string; address: string }>;

/** `alerts@example.com` or `Sitekeeper <alerts@example.com>`. */
export const mailbox = z.string().transform((text, context): Mailbox => {
  const [first, second] = addressparser(text);
  const isSingle = first?.address !== undefined && second === undefined && !/\p{Cc}/u.test(text);
  if (isSingle && email.safeParse(first.address).success) return first;
  context.addIssue('must be one e-mail address, such as Sitekeeper <alerts@example.com>');
  return z.NEVER;
});

/** One line that messages can contain. */
export const displayName = z.string().regex(/^(?=.*\S)[^\p{Cc}]{1,60}$/u, 'must be 1 to 60 characters on one line');

export const twilioAccount = z.string().regex(/^AC[0-9a-fA-F]{32}$/, 'must be AC and 32 hexadecimal digits');

export const smsSender = z
  .string()
  .refine(isSmsSender, 'must be a number in E.164 format, such as +15005550006, a short code or a sender ID');

/** `192.0.2.1:443`, `[2001:db8::1]:443` or `host.example:443`. */
export const tcpAddress = z.string().transform((text, context): { host: string; port: number } => {
  const url = URL.parse(`tcp://${text}`);
  const host = url?.hostname.replace(/^\[(.*)\]$/, '$1') ?? '';
  if (url?.host.toLowerCase() === text.toLowerCase() && host !== '' && Number(url.port) > 0) return { host, port: Number(url.port) };
  context.addIssue('must be a host and a port, such as 192.0.2.1:443');
  return z.NEVER;
});

const list = z.string().transform((text) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== ''),
);
const listOf = (isEntry: (entry: string) => boolean, message: string) => list.refine((entries) => entries.every(isEntry), { message });

export const addressRanges = listOf(
  isAddressOrRange,
  'must be a list of IP addresses or CIDR ranges, such as 10.0.0.0/8, separated by commas',
);

const proxyNames = ['loopback', 'linklocal', 'uniquelocal'];
const isHopCount = (entry: string) => /^([1-9]|10)$/.test(entry);
const isProxyEntry = (entry: string) =>
  isHopCount(entry) || proxyNames.includes(entry) || (isAddressOrRange(entry) && !/\/0+$/.test(entry));

/** Which addresses a proxy can have, and how many proxies a request passes through. */
export type Proxies = Readonly<{ addresses: string[] | 'any'; hops: number }>;

/** Addresses without a number mean one proxy. A number without addresses means that the proxies can have any address. */
export const proxies = list
  .refine((entries) => entries.every(isProxyEntry) && entries.filter(isHopCount).length <= 1, {
    message: `must be a list of IP addresses, CIDR ranges or the names ${proxyNames.join(', ')}, separated by commas, with at most one number of proxies from 1 to 10`,
  })
  .transform((entries): Proxies => {
    const hops = entries.find(isHopCount);
    const addresses = entries.filter((entry) => !isHopCount(entry));
    return { addresses: hops !== undefined && addresses.length === 0 ? 'any' : addresses, hops: Number(hops ?? 1) };
  });

export const origins = list.refine((entries) => (entries.length === 1 && entries[0] === '*') || entries.every(isOrigin), {
  message: 'must be either * or a list of origins, such as https://app.example.com, separated by commas',
});

export const secretKeys = list.refine((keys) => keys.length > 0 && keys.every((key) => /^[A-Za-z0-9+/]{43}=$/.test(key)), {
  message: 'must be 32 random bytes in base64 (openssl rand -base64 32); to rotate keys, append the old ones, separated by commas',
});

export const fraction = z
  .string()
  .refine((text) => /^(0|1|0?\.\d+|[01]\.0*)$/.test(text), 'must be a number from 0 to 1')
  .transform(Number);

/** Whether a trace is recorded, unless the sampler follows the decision of the client. */
export type SamplerName = Readonly<{ root: 'always_on' | 'always_off' | 'traceidratio'; followsParent: boolean }>;

/** The names that OpenTelemetry defines. */
export const sampler = oneOf(
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
).transform((name): SamplerName => {
  const root = name.replace('parentbased_', '') as SamplerName['root'];
  return { root, followsParent: name !== root };
});

/** `key=value,other=value`, with percent-encoded values, as OpenTelemetry defines it. */
export const pairs = list
  .refine((entries) => entries.every((entry) => /^[^=\s]+\s*=/.test(entry) && isPercentEncoded(entry)), {
    message: 'must be a list such as key=value,other=value, with percent-encoded values',
  })
  .transform((entries) =>
    Object.fromEntries(entries.map((entry) => entry.split(/=(.*)/s).map((part) => decodeURIComponent(part.trim())) as [string, string])),
  );

export const hostNames = listOf(
  (text) => !/[\s/\\:?#@[\]]/.test(text) && URL.canParse(`https://${text}`),
  'must be a list of host names, such as chat.example.com, separated by commas',
).transform((names) => names.map((name) => new URL(`https://${name}`).hostname));

function isAddressOrRange(entry: string): boolean {
  const [address = '', bits, rest] = entry.split('/');
  const family = isIP(address);
  if (family === 0 || address.includes('%') || rest !== undefined) return false;
  // The libraries reject or misread other IPv6 addresses that end like IPv4: ::192.0.2.0/96 would be all of IPv4.
  if (family === 6 && address.includes('.') && !/^::ffff:/i.test(address)) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

function isOrigin(text: string): boolean {
  return URL.parse(text)?.origin === text;
}

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function hasValidLogin(text: string): boolean {
  const { username, password } = new URL(text);
  return isPercentEncoded(username + password);
}

function isSmsSender(text: string): boolean {
  return (
    /^\+[1-9]\d{1,14}$/.test(text) || /^\d{3,8}$/.test(text) || (/^[A-Za-z0-9][A-Za-z0-9 &+_-]{0,10}$/.test(text) && /[A-Za-z]/.test(text))
  );
}
