import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type RunningMock, startMock } from '../support/mock.ts';

const root = join(import.meta.dirname, '../..');
let checkout: string;
let file: string;
let original: string;
let mock: RunningMock;

beforeAll(async () => {
  checkout = mkdtempSync(join(tmpdir(), 'sitekeeper-checkout-'));
  for (const part of ['src', 'openapi', 'generated/websites.json', 'generated/monitoring.json', 'package.json', 'redocly.yaml']) {
    cpSync(join(root, part), join(checkout, part), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'));
  file = join(checkout, 'openapi/monitoring/paths/monitor.yaml');
  original = readFileSync(file, 'utf8');
  // The mock must read the sources in openapi/, not the generated bundles, which can be outdated.
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

/** Replaces the file with a new one, as editors do. */
function save(text: string) {
  writeFileSync(`${file}~`, text);
  renameSync(`${file}~`, file);
}

async function shownName(): Promise<string> {
  return (await mock.api.get('/api/monitors/5')).body.data.friendly_name;
}

test('uses a changed contract without a restart, and keeps the last valid one with a one-line message if the change is invalid', async () => {
  const waitForName = (expected: string) =>
    vi.waitFor(async () => expect(await shownName()).toBe(expected), { timeout: 20_000, interval: 100 });
  await waitForName('Not generated yet');
  save(named('Changed'));
  await waitForName('Changed');
  const before = mock.printed().length;
  const since = () => mock.printed().slice(before);
  save(named('Broken').replace("    '200':", "   : '200': ["));
  await vi.waitFor(() => expect(since()).toContain('\n'), { timeout: 20_000 });
  expect(since()).toMatch(
    /^The changed contract is not valid, so the last valid one stays in use: openapi\/monitoring\/paths\/monitor\.yaml [^\n]*\n$/,
  );
  expect(await shownName()).toBe('Changed');
  save(named('Fixed'));
  await waitForName('Fixed');
});
