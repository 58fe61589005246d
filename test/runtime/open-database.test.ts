import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { openDatabase } from '../../src/runtime/open-database.ts';
import { sql } from '../support/statement.ts';

test('a process whose embedded database crashes says so, and exits with 1', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-crash-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const exit = vi.spyOn(process, 'exit').mockImplementation((() => {}) as never);
  const { execProtocolStream } = PGlite.prototype;
  let hasCrashed = false;
  const execute = vi.spyOn(PGlite.prototype, 'execProtocolStream').mockImplementation(function (this: PGlite, ...given) {
    const panic = Object.assign(new Error('No space left on device'), { severity: 'PANIC', code: '53100' });
    return hasCrashed ? Promise.reject(panic) : execProtocolStream.apply(this, given);
  });
  onTestFinished(() => {
    exit.mockRestore();
    execute.mockRestore();
  });
  const fatal: string[] = [];
  const log = pino({ level: 'fatal' }, { write: (line) => fatal.push(JSON.parse(line).msg) });
  const { database } = await openDatabase(readConfig({ DATA_DIR: join(folder, 'data') }), log);
  onTestFinished(() => database.close().catch(() => {}));
  hasCrashed = true;
  await expect(database.query()(sql('select 1'))).rejects.toThrow();
  expect(fatal).toEqual([expect.stringMatching(/^The embedded database in .* \(DATA_DIR\) has crashed: No space left on device/)]);
  await expect.poll(() => exit.mock.calls, { timeout: 10_000 }).toEqual([[1]]);
});
