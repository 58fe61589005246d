// Only the folders of a monitor type or a channel know its name. Everything else looks it up in a registry, so that a new type
// needs no change elsewhere.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import monitoring from '../../generated/monitoring.json' with { type: 'json' };

const { schemas } = monitoring.components;
const types = [...schemas.MonitorCreate.properties.type.enum, ...schemas.ProviderUpdate.properties.provider_type.enum];
const value = `(['"\`])(${types.join('|')})\\1`;
const compared = `[=!]==?\\s*${value}|${value}\\s*[=!]==?|\\bcase\\s+${value}`;
const listed = `\\[[^\\]]*${value}[^\\]]*\\]\\.includes|\\{[^}]*\\b(${types.join('|')}):[^}]*\\}\\[`;
const choice = new RegExp(`${compared}|${listed}`.replaceAll('\\1', `['"\`]`));
const folders = /^src\/monitoring\/(checks|channels)\/[^/]+\//;

function choicesIn(code: string): string[] {
  return code.split('\n').filter((line) => choice.test(line));
}

test('no code outside of their folders chooses by a monitor type or a provider type', () => {
  expect(types).toEqual(expect.arrayContaining(['http', 'ping', 'email', 'sms']));
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .map((file) => join('src', file).replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.ts') && !folders.test(file));
  expect(files).toContain('src/monitoring/engine/engine.ts');
  expect(files.flatMap((file) => choicesIn(readFileSync(file, 'utf8')).map((line) => `${file}: ${line.trim()}`))).toEqual([]);
});

test.each([
  `if (type === 'http') {`,
  `type === "ping" ? a : b`,
  `    case 'slack':`,
  `'email' == provider.providerType`,
  `type !== 'sms'`,
  `['slack', 'telegram'].includes(type)`,
  `const seconds = { http: 30, ping: 10 }[type];`,
])('finds %s', (line) => expect(choicesIn(line)).toEqual([line]));
