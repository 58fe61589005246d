import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type RunningMock, startMock } from '../support/mock.ts';

const here = join(import.meta.dirname, '../..');
let checkout: string;
let file: string;
let original: string;
let mock: RunningMock;

beforeAll(async () => {
  checkout = mkdtempSync(join(tmpdir(), 'sitekeeper-checkout-'));
  for (const part of ['src', 'openapi', 'generated/websites.json', 'generated/monitoring.json', 'package.json', 'redocly.yaml']) {
    cpSync(join(here, part), join(checkout, part), { recursive: true });
  }
  symlinkSync(join(here, 'node_modules'), join(checkout, 'node_modules'));
  file = join(checkout, 'openapi/monitoring/paths/monitor.yaml');
  original = readFileSync(file, 'utf8');
  // The sources count, not what was generated of them some time.
  save(named('Not generated yet'));
  mock = await startMock(checkout);
});
afterAll(async () => {
  await mock.stop();
  rmSync(checkout, { recursive: true });
});

function named(name: string): string {
  return original.replaceAll('Example shop', name);
}

/** As editors do: a new file in the place of the old one. */
function save(text: string) {
  writeFileSync(`${file}~`, text);
  renameSync(`${file}~`, file);
}

async function shownName(): Promise<string> {
  return (await mock.api.get('/api/monitors/5')).body.data.friendly_name;
}

test('a change of the contract is answered without a new start; one that breaks it leaves the last good one, and says so in a line', async () => {
  const seen = (expected: string) => vi.waitFor(async () => expect(await shownName()).toBe(expected), { timeout: 20_000, interval: 100 });
  await seen('Not generated yet');
  save(named('Changed'));
  await seen('Changed');
  const before = mock.printed().length;
  const since = () => mock.printed().slice(before);
  save(named('Broken').replace("    '200':", "   : '200': ["));
  await vi.waitFor(() => expect(since()).toContain('\n'), { timeout: 20_000 });
  expect(since()).toMatch(/^The contract cannot be used, so the last good one stays\. openapi\/monitoring\/paths\/monitor\.yaml [^\n]*\n$/);
  expect(await shownName()).toBe('Changed');
  save(named('Mended'));
  await seen('Mended');
});
