// compose.yaml refers only to what exists, and gives each container only the secrets that it needs.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { settingNames } from '../../src/config/config.ts';

const folder = join(import.meta.dirname, '../../deploy');
const readText = (file: string) => readFileSync(join(folder, file), 'utf8');
const variablesOf = (file: string): string[] => readText(file).match(/(?<=^#?)[A-Z]\w+(?==)/gm) ?? [];
const unknownSettings = (names: string[]) => names.filter((name) => !settingNames.includes(name));

test('the example of sitekeeper.env contains only settings, and none that migrates', () => {
  expect(unknownSettings(variablesOf('sitekeeper.env.example'))).toEqual([]);
  expect(variablesOf('sitekeeper.env.example')).not.toContain('MIGRATE_DATABASE_URL');
});

interface ComposeService {
  image?: string;
  build?: object;
  env_file?: string;
  environment?: Record<string, string>;
  depends_on?: Record<string, { condition: string }>;
  volumes?: string[];
  healthcheck?: object;
  read_only?: boolean;
  cap_drop?: string[];
  cap_add?: string[];
  security_opt?: string[];
  stop_grace_period?: string;
}

const compose: { services: Record<string, ComposeService>; volumes: Record<string, unknown> } = parse(readText('compose.yaml'), {
  merge: true,
  strict: true,
});
const services = Object.entries(compose.services);

/** The variables of database.env that a container gets, directly or as part of a setting. */
function passwordsOf({ env_file, environment = {} }: ComposeService): string[] {
  const passed = env_file ? variablesOf(`${env_file}.example`) : [];
  const used = [...JSON.stringify(environment).matchAll(/\$\{(\w+)/g)].map(([, name = '']) => name);
  return [...new Set([...passed, ...used])].filter((name) => variablesOf('database.env.example').includes(name)).toSorted();
}

test('compose.yaml gives each container only the passwords that it needs', () => {
  expect(Object.fromEntries(services.map(([name, service]) => [name, passwordsOf(service)]))).toEqual({
    migrate: ['DB_OWNER_PASSWORD', 'DB_PASSWORD'],
    serve: ['DB_PASSWORD'],
    worker: ['DB_PASSWORD'],
    postgres: ['DB_OWNER_PASSWORD', 'DB_PASSWORD', 'POSTGRES_PASSWORD'],
    valkey: [],
  });
});

test('serve and worker of compose.yaml start after migrate has succeeded, and get no setting that migrates', () => {
  for (const name of ['serve', 'worker']) {
    const { depends_on, environment = {} } = compose.services[name] ?? {};
    expect(depends_on?.migrate).toEqual({ condition: 'service_completed_successfully' });
    expect(Object.keys(environment)).not.toContain('MIGRATE_DATABASE_URL');
  }
});

test.each(services)('%s in compose.yaml refers to what exists', (_, { env_file, environment = {}, depends_on = {}, volumes = [] }) => {
  if (env_file) expect(existsSync(join(folder, `${env_file}.example`))).toBe(true);
  const variables = [...JSON.stringify(environment).matchAll(/\$\{(\w+)/g)].map(([, name]) => name);
  expect(variables.filter((name) => !variablesOf('database.env.example').includes(String(name)))).toEqual([]);
  for (const [dependency, { condition }] of Object.entries(depends_on)) {
    const target = compose.services[dependency];
    expect(target?.healthcheck, `${dependency} has no health check.`).toBeTruthy();
    expect(condition).toBe(dependency === 'migrate' ? 'service_completed_successfully' : 'service_healthy');
  }
  const sources = volumes.map((mount) => mount.split(':')[0] ?? '');
  expect(sources.filter((source) => !(source.startsWith('.') ? existsSync(join(folder, source)) : source in compose.volumes))).toEqual([]);
});

test('compose.yaml builds one image from a checkout, or uses that of a release, which contains no source', () => {
  const { migrate, serve, worker } = compose.services;
  expect(migrate?.image).toMatch(/^\$\{SITEKEEPER_IMAGE:-sitekeeper\}$/);
  expect([serve?.image, worker?.image]).toEqual([migrate?.image, migrate?.image]);
  expect(services.filter(([, { build }]) => build).map(([name]) => name)).toEqual(['migrate']);
  expect(variablesOf('database.env.example')).toContain('SITEKEEPER_IMAGE');
});

const unprivileged = { read_only: true, cap_drop: ['ALL'] };

test.each([
  ['migrate', { ...unprivileged, security_opt: ['no-new-privileges:true'] }],
  ['serve', { ...unprivileged, security_opt: ['no-new-privileges:true'] }],
  ['worker', { ...unprivileged, cap_add: ['NET_RAW'] }], // For fping, which gains it when it starts.
])('%s in compose.yaml has no more privileges than it needs, and only settings that exist', (name, expected) => {
  const { read_only, cap_drop, cap_add, security_opt, environment = {} } = compose.services[name] ?? {};
  expect({ read_only, cap_drop, cap_add, security_opt }).toEqual(expected);
  expect(unknownSettings(Object.keys(environment))).toEqual([]);
});

test.each(['serve', 'worker'])('%s in compose.yaml has time to stop, which takes up to 9 seconds', (name) => {
  expect(Number.parseInt(compose.services[name]?.stop_grace_period ?? '', 10)).toBeGreaterThan(9);
});
