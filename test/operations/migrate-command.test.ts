import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ownCheckout, runCommand } from '../cli/run-command.ts';
import { databaseUrl, serviceUrl } from '../support/database-url.ts';

const planned =
  /^These migrations would run, in one transaction:\n {2}0001_baseline\n(?: {2}\d{4}_\w+\n)*They are in \/.*\/src\/db\/migrations\.\n$/;
const upToDate = 'Nothing to run: the database is up to date.\n';

describe('on the embedded database', () => {
  let folder: string;
  /** A copy of this checkout, in which a migration can be edited. */
  let copy: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sitekeeper-migrate-'));
    copy = mkdtempSync(join(tmpdir(), 'sitekeeper-checkout-'));
    for (const part of ['src', 'generated/websites.json', 'generated/monitoring.json', 'package.json']) {
      cpSync(join(ownCheckout, part), join(copy, part), { recursive: true });
    }
    symlinkSync(join(ownCheckout, 'node_modules'), join(copy, 'node_modules'));
  });
  afterAll(async () => {
    rmSync(copy, { recursive: true });
    await rm(folder, { recursive: true });
  });

  // One test, because each command starts the embedded database again.
  test('migrate --plan changes nothing; line endings can differ; a failing and an edited migration are named', async () => {
    const plan = await runCommand(folder, ['migrate', '--plan']);
    expect([plan.code, plan.printed]).toEqual([0, expect.stringMatching(planned)]);
    expect(await readdir(folder)).toEqual([]);

    const file = join(copy, 'src/db/migrations/0001_baseline.sql');
    const original = readFileSync(file, 'utf8').replaceAll('\r\n', '\n');
    writeFileSync(file, original.replaceAll('\n', '\r\n'));
    expect((await runCommand(folder, ['migrate'], { checkout: copy })).code).toBe(0);
    expect(await runCommand(folder, ['migrate', '--plan'])).toEqual({ code: 0, printed: upToDate });

    const [next, last] = ['9001_next', '9002_last'].map((name) => join(copy, `src/db/migrations/${name}.sql`)) as [string, string];
    writeFileSync(next, 'create table next_websites ();\n');
    writeFileSync(last, 'create table websites ();\n');
    expect(await runCommand(folder, ['migrate'], { checkout: copy })).toEqual({
      code: 1,
      printed: expect.stringMatching(/^The migration 9002_last failed and was rolled back: .*relation "websites" already exists\n$/),
    });
    writeFileSync(last, 'create table last_websites ();\n');
    expect((await runCommand(folder, ['migrate'], { checkout: copy })).code).toBe(0);

    // test/db/migrations.test.ts has the case of migrate itself.
    writeFileSync(next, 'create table next_websites (id bigint);\n');
    for (const [prefix, args] of [
      ['', ['migrate', '--plan']],
      ['Cannot start. ', ['serve']],
    ] as const) {
      const { code, printed } = await runCommand(folder, [...args], { checkout: copy, settings: { PORT: '0' } });
      expect([code, printed.slice(0, prefix.length)]).toEqual([1, prefix]);
      expect(printed.slice(prefix.length)).toMatch(
        /^The migration 9001_next was changed after it ran on this database \(checksum [0-9a-f]{16}, expected [0-9a-f]{16}\)\. Restore the original file\.\n$/,
      );
    }
  }, 120_000);
});

const server = process.env.TEST_DATABASE_URL ?? '';

describe.runIf(server)('on PostgreSQL', () => {
  const name = `sitekeeper_migrate_${process.pid}`;
  let url: string;
  let admin: pg.Client;
  let client: pg.Client;

  beforeEach(async () => {
    admin = new pg.Client({ connectionString: server });
    await admin.connect();
    await admin.query(`create database ${name}`);
    url = databaseUrl(server, name);
    client = new pg.Client({ connectionString: url });
    await client.connect();
  });
  afterEach(async () => {
    await client.end();
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  });

  const service = () => ({ DATABASE_URL: serviceUrl(url), SECRET_KEY: Buffer.alloc(32, 7).toString('base64') });

  const migrate = async (...options: string[]) => {
    const settings = { ...service(), MIGRATE_DATABASE_URL: url };
    const { code, printed } = await runCommand(tmpdir(), ['migrate', ...options], { settings });
    expect([code, printed]).toEqual([0, printed]);
    return printed;
  };

  test('migrates the database and exits; a second run has nothing to do', async () => {
    expect(await migrate()).toContain('"msg":"Database migrated"');
    expect(await migrate()).toContain('"msg":"Database is up to date"');
  });

  test.each([[], ['--plan']])('requires the login of the database owner %s', async (...options) => {
    expect(await runCommand(tmpdir(), ['migrate', ...options], { settings: service() })).toEqual({
      code: 1,
      printed:
        'Invalid configuration. MIGRATE_DATABASE_URL: is required by the migrate command. Set it to the login of the database owner\n',
    });
  });

  test('--plan lists what would run and changes nothing', async () => {
    const countObjects = async () => (await client.query('select count(*) from pg_class')).rows[0].count;
    const before = await countObjects();
    expect(await migrate('--plan')).toMatch(planned);
    expect(await countObjects()).toBe(before);
    await migrate();
    expect(await migrate('--plan')).toBe(upToDate);
    const unknown = 'The database was migrated by a newer version, which ran: 9999_next.\n';
    await client.query(`insert into migrations (name) values ('9999_next')`);
    expect(await migrate('--plan')).toBe(unknown + upToDate);
  });
});
