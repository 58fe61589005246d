import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ConfigError, forgetOwnerLogin, readConfig, settingNames } from '../../src/config/config.ts';
import { secretSettings } from '../../src/config/secret-files.ts';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sitekeeper-secrets-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function fileWith(content: string | Buffer): string {
  const path = join(folder, 'token');
  writeFileSync(path, content);
  return path;
}
const token = 'a-token-of-many-characters';
const readToken = (METRICS_TOKEN_FILE: string) => readConfig({ METRICS_TOKEN_FILE }).metrics.token;

test('docs/configuration.md lists the secret settings, and all of them are settings', () => {
  const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
  const [, section = ''] = page.split('## Secrets in files');
  expect(
    section
      .split('\n## ')[0]
      ?.match(/(?<=`)[A-Z_]+(?=_FILE`)/g)
      ?.toSorted(),
  ).toEqual(secretSettings.toSorted());
  expect(secretSettings.filter((name) => !settingNames.includes(name))).toEqual([]);
});

test('every setting whose name or format suggests a secret can be in a file', () => {
  const isSecret = (name: string) =>
    /PASSWORD|KEY|TOKEN|SECRET|HEADERS|(DATABASE|REDIS|SMTP)_URL/.test(name) && name !== 'OTEL_EXPORTER_OTLP_CLIENT_KEY'; // It is a path.
  expect(settingNames.filter(isSecret).toSorted()).toEqual(secretSettings.toSorted());
});

test.each([
  ['without a line ending', token],
  ['with a line ending', `${token}\n`],
  ['with a line ending of Windows', `${token}\r\n`],
  ['with a byte order mark', `\uFEFF${token}`],
])('reads a file %s', (_, content) => expect(readToken(fileWith(content))).toBe(token));

test('follows a symbolic link, as Kubernetes creates them', () => {
  const link = join(folder, 'link');
  symlinkSync(fileWith(token), link);
  expect(readToken(link)).toBe(token);
});

test('an empty variable counts as not set', () => {
  expect(readConfig({ METRICS_TOKEN_FILE: '', METRICS_TOKEN: token }).metrics.token).toBe(token);
  expect(readConfig({ METRICS_TOKEN_FILE: fileWith(token), METRICS_TOKEN: '' }).metrics.token).toBe(token);
});

test('the login of the owner is forgotten, and so is the path of the file that contains it', () => {
  vi.stubEnv('MIGRATE_DATABASE_URL', 'postgres://owner@db/sitekeeper');
  vi.stubEnv('MIGRATE_DATABASE_URL_FILE', '/run/secrets/owner');
  onTestFinished(() => void vi.unstubAllEnvs());
  const config = readConfig({
    DATABASE_URL: 'postgres://app@db/sitekeeper',
    MIGRATE_DATABASE_URL_FILE: fileWith('postgres://owner@db/sitekeeper'),
    SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
  });
  expect(config).toHaveProperty('migrateDatabaseUrl');
  expect(forgetOwnerLogin(config)).not.toHaveProperty('migrateDatabaseUrl');
  expect(Object.keys(process.env).filter((name) => name.startsWith('MIGRATE_'))).toEqual([]);
});

describe('is rejected in one line that names the setting and the path, and not the content:', () => {
  test.each<[string, () => string, RegExp]>([
    ['a missing file', () => join(folder, 'missing'), /: ENOENT: no such file or directory$/],
    ['a directory', () => folder, /: it is not a regular file$/],
    ['a device', () => '/dev/zero', /: it is not a regular file$/],
    ['a named pipe', namedPipe, /: it is not a regular file$/],
    ['a path through a file', () => join(fileWith(token), 'x'), /: ENOTDIR: not a directory$/],
    ['a path that is too long', () => `/${'x'.repeat(5000)}`, /: ENAMETOOLONG: name too long$/],
    ['an empty file', () => fileWith(''), /: it is empty$/],
    ['an empty line', () => fileWith('\n'), /: it is empty$/],
    ['two lines', () => fileWith(`hidden\n${token}\n`), /: it is not one line of text$/],
    ['invalid UTF-8', () => fileWith(Buffer.from([0x68, 0xff, 0xfe])), /: it is not one line of text$/],
    ['a NUL byte', () => fileWith('hidden\0hidden'), /: it is not one line of text$/],
    ['a large file', () => fileWith('hidden'.repeat(10_000)), /: it has more than 16384 bytes$/],
  ])('%s', (_, create, reason) => {
    const path = create();
    const read = () => readToken(path);
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(reason);
    expect(messageOf(read).startsWith(`METRICS_TOKEN_FILE: cannot use the file ${path}: `)).toBe(true);
    expect(messageOf(read)).not.toMatch(/hidden|\n/);
  });

  test('a file with an invalid value', () => {
    expect(() => readToken(fileWith('hidden'))).toThrow(/^METRICS_TOKEN: must (?!.*hidden)/);
  });

  test('a setting that is given in both ways', () => {
    expect(() => readConfig({ METRICS_TOKEN: 'hidden', METRICS_TOKEN_FILE: '/hidden' })).toThrow(
      /^METRICS_TOKEN_FILE: METRICS_TOKEN is set too\. Set only one of them$/,
    );
  });
});

function namedPipe(): string {
  mkdirSync(join(folder, 'pipe'));
  const path = join(folder, 'pipe/name');
  execFileSync('mkfifo', [path]);
  return path;
}

function messageOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof Error) return error.message;
  }
  return '';
}
