// `sitekeeper move` copies an embedded database, with rows in every table, to a PostgreSQL server. It is interrupted on the way.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createKey } from '../../src/accounts/keys.ts';
import { allScopes } from '../../src/auth/scopes.ts';
import { lockDirectory } from '../../src/db/data-directory.ts';
import { openEmbedded } from '../../src/db/embedded.ts';
import { migratePostgres } from '../../src/db/postgres.ts';
import { entities } from '../../src/entities.ts';
import { startProxy } from '../faults/support/proxy.ts';
import { ApiClient } from '../support/api-client.ts';
import { databaseUrl, serviceUrl } from '../support/database-url.ts';
import { type RunningProcess, run, waitUntilListening } from '../support/process.ts';
import { startService } from '../support/service.ts';
import { createUserWithRows } from '../support/user-with-rows.ts';
import { scripts, startWebServer, type WebServer } from '../support/web-server.ts';

const server = process.env.TEST_DATABASE_URL ?? '';
const websites = 5000;
const largeRows = 12;
const token = '123456:hiddenhiddenhiddenhiddenhiddenhid';
/** The key that test services encrypt secrets with. */
const secretKey = Buffer.alloc(32, 1).toString('base64');
const unfinished =
  'The database is the target of a move that has not finished. Run "sitekeeper move" again, which continues it, or use another database.\n';

describe.runIf(server)('move', () => {
  let folder: string;
  let data: string;
  let key: string;
  let lastWebsite: number;
  let telegram: WebServer;
  let admin: pg.Client;
  let count = 0;
  let ownerUrl: string;
  let target: pg.Client;
  const processes: RunningProcess[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sitekeeper-move-'));
    data = join(folder, 'data');
    telegram = await startWebServer({ script: scripts.respond('{"ok":true,"result":{"message_id":1}}') });
    ({ key, lastWebsite } = await fillDirectory(data));
    admin = await connect(server);
  }, 120_000);
  afterAll(async () => {
    await admin?.end();
    await telegram?.close();
    rmSync(folder, { recursive: true });
  });

  beforeEach(async () => {
    ownerUrl = databaseUrl(server, `sitekeeper_move_${process.pid}_${++count}`);
    await admin.query(`create database ${nameOf(ownerUrl)}`);
    target = await connect(ownerUrl);
  });
  afterEach(async () => {
    for (const { child, ended } of processes.splice(0)) {
      child.kill('SIGKILL');
      await ended;
    }
    await target.end();
    await admin.query(`drop database ${nameOf(ownerUrl)} with (force)`);
  });

  const start = (args: string[], settings: Record<string, string> = {}) => {
    const started = run(folder, { DATA_DIR: data, PORT: '0', ...settings }, args);
    processes.push(started);
    return started;
  };
  const startMove = (url: string, ...options: string[]) => start(['move', '--to', url, '--login', 'sitekeeper_login', ...options]);
  const result = async ({ ended, printed }: RunningProcess) => ({ code: await ended, printed: printed() });
  const move = (...options: string[]) => result(startMove(ownerUrl, ...options));
  const service = () => ({ DATABASE_URL: serviceUrl(ownerUrl), SECRET_KEY: secretKey, TELEGRAM_API_URL: telegram.url });

  /** Starts a move and interrupts it when it sends a batch of websites. */
  async function interrupt(batch: number, stop: (moving: RunningProcess, closeProxy: () => Promise<void>) => Promise<unknown>) {
    const proxy = await startProxy(ownerUrl);
    const reached = proxy.holdAt(Array(batch).fill(/insert into "websites"/));
    const moving = startMove(proxy.url);
    await Promise.race([reached, moving.ended]);
    expect(moving.child.exitCode, moving.printed()).toBeNull();
    await stop(moving, () => proxy.close());
    await moving.ended;
    await proxy.close().catch(() => {});
    return moving.printed();
  }

  /** Runs statements as the owner with every row of a table in sight, as the migrations do. */
  async function changeTarget(table: string, sql: string) {
    await target.query(`alter table ${table} no force row level security; ${sql}; alter table ${table} force row level security`);
  }

  test('copies every table to an empty database, also after a lost connection and a kill; ids continue and secrets can be read', async () => {
    const lost = await interrupt(2, (_, closeProxy) => closeProxy());
    expect(lost).toMatch(/\nThe connection to the database was lost\. Run the same command again, which continues the move\.\n$/);
    const terminated = await interrupt(2, () =>
      admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sitekeeper move'`),
    );
    expect(terminated).toMatch(/\nThe connection to the database was lost\. Run the same command again, which continues the move\.\n$/);
    await interrupt(2, async ({ child }) => child.kill('SIGKILL'));

    const owner = { ...service(), MIGRATE_DATABASE_URL: ownerUrl };
    expect(await result(start(['serve'], service()))).toEqual({ code: 1, printed: `Cannot start. ${unfinished}` });
    expect(await result(start(['worker'], owner))).toEqual({ code: 1, printed: `Cannot start. ${unfinished}` });
    expect(await result(start(['migrate'], owner))).toEqual({ code: 1, printed: unfinished });
    const copied = (await target.query('select progress from unfinished_move')).rows[0].progress.websites.rows;
    expect([copied > 0, copied < websites]).toEqual([true, true]);

    const finished = await move();
    expect([finished.code, finished.printed]).toEqual([0, expect.stringContaining('Continuing the unfinished move.')]);
    expect(finished.printed).toContain(`websites: ${copied} of ${websites + largeRows + 1} rows\n`);
    expect(finished.printed).toContain(`websites: ${websites + largeRows + 1} rows verified\n`);
    expect(finished.printed).toContain(`SECRET_KEY=…   (the contents of ${data}/secret.key)`);
    expect(finished.printed).not.toContain(secretKey);

    // A table that the test does not fill, or that the move does not copy, would be empty.
    const { rows } = await target.query<{ name: string }>(
      `select relname as name from pg_class
        where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`,
    );
    for (const { name } of rows) expect([name, finished.printed]).toEqual([name, expect.stringMatching(rowsOf(name))]);
    expect(await schemaOf(ownerUrl)).toBe(await schemaOfFresh());

    expect(await result(start(['serve']))).toEqual({
      code: 1,
      printed: `Cannot start. DATA_DIR is ${data}, which contains a database that was moved to a PostgreSQL server. Set DATABASE_URL to that server. To use the directory again, delete its file "moved".\n`,
    });

    const serving = start(['serve', '--no-engine'], { ...service(), NET_ALLOW: '127.0.0.0/8' });
    const api = new ApiClient(await waitUntilListening(serving), { Authorization: `Bearer ${key}` });
    const { body } = await api.get('/api/providers');
    const telegramProvider = body.data.find(({ provider_type }: { provider_type: string }) => provider_type === 'telegram');
    expect((await api.post(`/api/providers/${telegramProvider.id}/test`)).status).toBe(200);
    expect(telegram.requests.at(-1)?.path).toContain(`/bot${token}/`);
    const created = await api.post('/api/v1/websites', { form: { domain: 'after-the-move.example' } });
    expect([created.status, created.body.data.id]).toEqual([201, lastWebsite + 1]);
    expect((await api.get('/api/v1/websites?per_page=10')).body.meta.total).toBe(websites + largeRows + 2);
  }, 240_000);

  test('explains a target that cannot be opened, without its password', async () => {
    const unreachable = await result(start(['move', '--to', 'postgres://owner:hidden@127.0.0.1:1/sitekeeper']));
    expect(unreachable).toEqual({ code: 1, printed: expect.stringMatching(/^The database in --to is unreachable: [^\n]*\n$/) });
    const notEncoded = await result(start(['move', '--to', 'postgres://owner:hid%den@127.0.0.1:1/sitekeeper']));
    expect(notEncoded).toEqual({ code: 1, printed: expect.stringMatching(/^The user name or password in --to contains a % [^\n]*\n$/) });
    expect(unreachable.printed + notEncoded.printed).not.toMatch(/hid/);
  });

  test('finds a difference between the databases; --restart copies everything again', async () => {
    await interrupt(2, async ({ child }) => child.kill('SIGKILL'));
    await changeTarget('users', `update users set email = 'other' || id || '@example.com' where id = 1`);
    expect(await move()).toEqual({
      code: 1,
      printed: expect.stringMatching(
        /\nThe table users differs: 1 rows with the checksum (\d+) in [^\n]+, 1 rows with (?!\1)\d+ in [^\n]+\n$/,
      ),
    });
    expect(await result(start(['serve'], service()))).toEqual({ code: 1, printed: `Cannot start. ${unfinished}` });
    const again = await move('--restart');
    expect([again.code, again.printed]).toEqual([0, expect.stringContaining('Deleted what an unfinished move has copied.\n')]);
  }, 240_000);

  test('refuses a target with rows, with other tables, in use, or of another move, and a data directory in use, and changes nothing', async () => {
    const refusal = async () => {
      const schema = await schemaOf(ownerUrl);
      const { code, printed } = await move();
      expect([code, await schemaOf(ownerUrl)]).toEqual([1, schema]);
      return printed;
    };
    await target.query('create table other ()');
    expect(await refusal()).toBe('The database is not empty: it has a table "other". Use an empty database.\n');
    await target.query('drop table other');
    await migratePostgres(ownerUrl, serviceUrl(ownerUrl));
    await changeTarget('users', `insert into users (email) values ('somebody@example.com')`);
    expect(await refusal()).toBe('The database is not empty: the table users has rows. Use an empty database.\n');
    await changeTarget('users', 'truncate users cascade'); // A deletion would leave a row in another table.
    await target.query(`create table unfinished_move (source text, progress jsonb); insert into unfinished_move values ('other', '{}')`);
    expect(await refusal()).toBe('The database contains an unfinished move from another data directory. Use an empty database.\n');
    await target.query('drop table unfinished_move');
    await target.query(`set application_name = 'sitekeeper'`);
    expect(await refusal()).toBe('A Sitekeeper process uses the database. Stop it, and use an empty database.\n');
    await target.query('reset application_name');
    await target.query(`select pg_advisory_lock(hashtext('sitekeeper move'))`);
    expect(await refusal()).toBe('Another "sitekeeper move" copies into this database. Wait until it has finished.\n');
    await target.query(`select pg_advisory_unlock(hashtext('sitekeeper move'))`);
    const unlock = lockDirectory(data);
    try {
      expect(await refusal()).toMatch(/^The data directory .* is in use by another process\. [^\n]*\n$/);
    } finally {
      unlock();
    }
    expect(await result(start(['move', '--to', ownerUrl, '--login', 'nobody']))).toEqual({
      code: 1,
      printed: expect.stringMatching(/^The server has no role "nobody", [^\n]*\n$/),
    });
    expect(await result(start(['move', '--to', ownerUrl, '--login', 'sitekeeper_login'], { DATA_DIR: join(folder, 'none') }))).toEqual({
      code: 1,
      printed: `There is no embedded database in ${join(folder, 'none')}. Set DATA_DIR to its directory, or DATABASE_URL if the service uses PostgreSQL.\n`,
    });
  }, 240_000);

  test('refuses a target whose tables have other columns', async () => {
    await migratePostgres(ownerUrl, serviceUrl(ownerUrl));
    await target.query('alter table websites add column extra integer');
    expect(await move()).toEqual({ code: 1, printed: expect.stringMatching(/^The tables of the two databases differ\. [^\n]*\n$/) });
    expect(await result(start(['serve'], service()))).toEqual({ code: 1, printed: `Cannot start. ${unfinished}` });
    await target.query('alter table websites drop column extra');
    expect(await move()).toMatchObject({ code: 0 });
  }, 240_000);

  async function schemaOfFresh(): Promise<string> {
    const fresh = databaseUrl(server, `${nameOf(ownerUrl)}_fresh`);
    await admin.query(`create database ${nameOf(fresh)}`);
    try {
      await migratePostgres(fresh, serviceUrl(fresh));
      return await schemaOf(fresh);
    } finally {
      await admin.query(`drop database ${nameOf(fresh)} with (force)`);
    }
  }
});

/** Creates an embedded database with rows in every table, many websites and some large ones. */
async function fillDirectory(data: string): Promise<{ key: string; lastWebsite: number }> {
  const database = await openEmbedded(data, entities);
  const service = await startService({}, { database });
  const { id, api } = await createUserWithRows(service);
  await api.post('/api/providers', { json: { provider_type: 'telegram', chat_id: '1', token } });
  // The id of the database, which the dispatcher creates.
  await database.asEngine((em) => em.execute('insert into installation default values', [], 'run'));
  const { key } = await database.asUser(id, async (em) => {
    await em.execute(
      `insert into websites (user_id, domain, exclude_params)
       select ?, 'many' || n || '.example', case when n <= ? then repeat('"ü\\,( ', 100000) || n else '' end from generate_series(1, ?) n`,
      [id, largeRows, websites + largeRows],
    );
    return createKey(em, { userId: id, name: 'Old', scopes: allScopes });
  });
  // The last id was given to a row that does not exist any more. It must not be given to another one.
  const last = await api.post('/api/v1/websites', { form: { domain: 'deleted.example' } });
  await api.delete(`/api/v1/websites/${last.body.data.id}`);
  await service.stop();
  await database.close();
  writeFileSync(join(data, 'secret.key'), `${secretKey}\n`, { mode: 0o600 });
  return { key, lastWebsite: last.body.data.id };
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

function nameOf(url: string): string {
  return new URL(url).pathname.slice(1);
}

/** What the move prints for a table with rows. `migrate` writes the other tables. */
function rowsOf(table: string): RegExp {
  return /^migration/.test(table) ? /verified/ : new RegExp(`^${table}: [1-9]\\d* rows verified$`, 'm');
}

/** Returns the schema as statements, without the random word that newer versions of pg_dump add. */
async function schemaOf(url: string): Promise<string> {
  return execFileSync('pg_dump', ['--schema-only', url], { encoding: 'utf8' }).replaceAll(/^\\(un)?restrict .*$/gm, '');
}
