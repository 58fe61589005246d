import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateWithoutClient } from '../../openapi/tools/generate.ts';
import { clientFingerprint } from '../../openapi/tools/generate-client.ts';
import { collectionFile } from '../../openapi/tools/generate-collection.ts';

const generated = join(import.meta.dirname, '../../generated');
let fresh: string;

beforeAll(async () => {
  fresh = await mkdtemp(join(tmpdir(), 'sitekeeper-generated-'));
  await generateWithoutClient(fresh);
});
afterAll(() => rm(fresh, { recursive: true }));

test.each(['websites.json', 'monitoring.json', 'types/websites.ts', 'types/monitoring.ts', collectionFile])(
  'generated/%s is up to date with openapi/ (otherwise run npm run generate)',
  async (file) => {
    expect(await readFile(join(generated, file), 'utf8')).toBe(await readFile(join(fresh, file), 'utf8'));
  },
);

test('generated/client is up to date with openapi/ (otherwise run npm run generate)', async () => {
  const fingerprint = (await readFile(join(generated, 'client/CONTRACT.sha256'), 'utf8')).trim();
  expect(fingerprint).toBe(clientFingerprint(fresh));
});
