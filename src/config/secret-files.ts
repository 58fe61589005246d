import { ConfigError } from './config-error.ts';
import { readRegularFile } from './regular-file.ts';

/** The settings that contain a secret. Each has a variant with the suffix _FILE: the path of a file that contains the value. */
export const secretSettings = [
  'DATABASE_URL',
  'MIGRATE_DATABASE_URL',
  'REDIS_URL',
  'SECRET_KEY',
  'OWNER_PASSWORD',
  'OWNER_API_KEY',
  'SMTP_URL',
  'TWILIO_AUTH_TOKEN',
  'METRICS_TOKEN',
  'OTEL_EXPORTER_OTLP_HEADERS',
];

/** Far more than any setting needs. */
const maxBytes = 16 * 1024;

/** Returns the values of the settings that are given as files. */
export function readSecretFiles(given: Record<string, string | undefined>): Record<string, string> {
  const values: Record<string, string> = {};
  for (const name of secretSettings) {
    const path = given[`${name}_FILE`];
    if (path === undefined) continue;
    if (given[name] !== undefined) throw new ConfigError(`${name}_FILE: ${name} is set too. Set only one of them`);
    values[name] = readSecret(`${name}_FILE`, path);
  }
  return values;
}

/** The messages contain the path, but nothing of the content. */
function readSecret(setting: string, path: string): string {
  const fail = (reason: string) => new ConfigError(`${setting}: cannot use the file ${path}: ${reason}`);
  let bytes: Buffer;
  try {
    bytes = readRegularFile(path, maxBytes);
  } catch (error) {
    throw fail((error as Error).message);
  }
  const line = decode(bytes)?.replace(/\r?\n$/, '');
  if (line === undefined || /\p{Cc}/u.test(line)) throw fail('it is not one line of text');
  if (line === '') throw fail('it is empty');
  return line;
}

function decode(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
