import { expect, test } from 'vitest';
import { createDatabase } from '../support/database.ts';

test.each([
  '0001-01-01T00:00:00.000Z',
  '0049-06-01T00:00:00.000Z',
  '0999-12-31T23:59:59.999Z',
  '1999-12-31T00:00:00.500Z',
  '9999-12-31T23:59:59.999Z',
])('a database returns %s as it was stored', async (text) => {
  const database = await createDatabase();
  const [row] = await database.asEngine((em) => em.execute<{ time: Date }[]>('select ?::timestamptz(3) as time', [text]));
  expect(row?.time.toISOString()).toBe(text);
  await database.close();
});
