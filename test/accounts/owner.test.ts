import { expect, test } from 'vitest';
import { findUserId } from '../../src/accounts/operator-queries.ts';
import { createOwner } from '../../src/accounts/owner.ts';
import { createDatabase } from '../support/database.ts';

test('creates the owner on an empty database only, also if several processes start together', async () => {
  const database = await createDatabase();
  try {
    const keys = await Promise.all(['a', 'b', 'c'].map((name) => createOwner(database, { email: `${name}@example.com` })));
    expect(keys.filter((key) => key !== undefined)).toHaveLength(1);
    expect(await createOwner(database, { email: 'd@example.com' })).toBeUndefined();
    expect(await findUserId(database, 'd@example.com')).toBeUndefined();
  } finally {
    await database.close();
  }
});
