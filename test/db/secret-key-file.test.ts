import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { addSecretKey, readSecretKeys, readStoredKeys, removeOldSecretKeys, secretKeyFile } from '../../src/db/secret-key-file.ts';

test('only its owner can read the file, from the first key on and after each step of a rotation', () => {
  const directory = mkdtempSync(join(tmpdir(), 'sitekeeper-keys-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  // Not readSecretKeys, which would repair the mode.
  const state = () => [statSync(secretKeyFile(directory)).mode & 0o777, readStoredKeys(directory)];
  const [first] = readSecretKeys(directory);
  expect(state()).toEqual([0o600, [first]]);
  const [second, ...others] = addSecretKey(directory);
  expect(others).toEqual([first]);
  expect(state()).toEqual([0o600, [second, first]]);
  removeOldSecretKeys(directory);
  expect(state()).toEqual([0o600, [second]]);
});
