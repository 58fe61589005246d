import type { PGlite } from '@electric-sql/pglite';
import { expect, test } from 'vitest';
import { watchForPanic } from '../../src/db/panic.ts';

/** A database whose next statement fails. */
function openDatabase(error: object) {
  const panics: Error[] = [];
  let calls = 0;
  const pglite = {
    execProtocolStream() {
      calls++;
      return Promise.reject(Object.assign(new Error('could not extend file "base/5/16384": No space left on device'), error));
    },
    transaction: async () => 'committed',
  } as unknown as PGlite;
  const hasPanicked = watchForPanic(pglite, '/var/lib/sitekeeper', (panic) => panics.push(panic));
  return { pglite, hasPanicked, panics, calls: () => calls };
}

test('the error of a statement on a full disk names the data directory, and the database stays in use', async () => {
  const { pglite, hasPanicked, panics } = openDatabase({ severity: 'ERROR', code: '53100' });
  await expect(pglite.execProtocolStream(new Uint8Array())).rejects.toThrow(
    'could not extend file "base/5/16384": No space left on device (DATA_DIR is /var/lib/sitekeeper)',
  );
  expect([hasPanicked(), panics]).toEqual([false, []]);
  expect(await pglite.transaction(async () => 'committed')).toBe('committed');
});

test('after a panic, which is reported once, nothing is sent to the database', async () => {
  const { pglite, hasPanicked, panics, calls } = openDatabase({ severity: 'PANIC', code: '53100' });
  for (let n = 0; n < 3; n++)
    await expect(pglite.execProtocolStream(new Uint8Array())).rejects.toThrow('the embedded database has crashed');
  expect([hasPanicked(), panics.length, calls()]).toEqual([true, 1, 1]);
  expect(panics[0]?.message).toContain('(DATA_DIR is /var/lib/sitekeeper)');
});
