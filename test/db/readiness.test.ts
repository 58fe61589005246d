import { expect, onTestFinished, test } from 'vitest';
import { migrationNames } from '../../src/db/migrate.ts';
import { createDatabase } from '../support/database.ts';

test('a database that lacks a migration of this version is not ready, and names it', async () => {
  const database = await createDatabase();
  onTestFinished(() => database.close());
  expect([await database.isReady(), await database.missingMigrations()]).toEqual([true, []]);
  migrationNames.push('9999_later');
  onTestFinished(() => void migrationNames.pop());
  expect([await database.isReady(), await database.missingMigrations()]).toEqual([false, ['9999_later']]);
});
