// `sitekeeper backup` while the service writes. Every backup must open, be intact, and contain what was acknowledged before it.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { amcheck } from '@electric-sql/pglite/contrib/amcheck';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPglite } from '../../src/db/embedded.ts';
import { runCommand } from '../cli/run-command.ts';
import { Deployment, type RunningService } from '../faults/support/deployment.ts';
import { scripts, startWebServer, type WebServer } from '../support/web-server.ts';

const backups = 3;
const writers = 4;
const token = '123456:hiddenhiddenhiddenhiddenhiddenhid';

let deployment: Deployment;
let telegram: WebServer;

beforeAll(async () => {
  telegram = await startWebServer({ script: scripts.respond('{"ok":true,"result":{"message_id":1}}') });
  // An empty setting counts as absent, so the key is in the data directory.
  deployment = await Deployment.create({ SECRET_KEY: '', TELEGRAM_API_URL: telegram.url });
});
afterAll(async () => {
  await deployment?.remove();
  await telegram?.close();
});

const serve = (settings = {}) => deployment.serve(settings, ['serve', '--no-engine']);
const backUp = (...args: string[]) => runCommand(deployment.folder, ['backup', ...args]);

/** Creates and updates websites until it is stopped. Returns the domains that were acknowledged so far. */
function startWriting({ api }: RunningService) {
  const acknowledged: string[] = [];
  let stopped = false;
  const done = Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      for (let n = 0; !stopped; n++) {
        const domain = `site-${writer}-${n}.example`;
        const created = await api.post('/api/v1/websites', { form: { domain } });
        expect(created.status).toBe(201);
        acknowledged.push(domain);
        // The statement of this request fails, in the only session of the database.
        expect((await api.post('/api/v1/websites', { form: { domain } })).status).toBe(409);
        const params = Array.from({ length: 100 }, (_, line) => `p${n}-${line}`).join('\n');
        await api.patch(`/api/v1/websites/${created.body.data.id}`, { form: { exclude_params: params } });
      }
    }),
  );
  return {
    acknowledged,
    async stop() {
      stopped = true;
      await done;
    },
  };
}

/** Opens a copy of a backup as PostgreSQL alone would, and checks every table and index. Returns the domains in it. */
async function verifyBackup(name: string): Promise<Set<string>> {
  const copy = join(deployment.folder, `${name}-copy`);
  cpSync(join(deployment.folder, name), copy, { recursive: true });
  // Without the label, PostgreSQL would replay the WAL from the last checkpoint, which may be later than the first copied file.
  const label = readFileSync(join(copy, 'postgres/backup_label'), 'utf8');
  const [, firstSegment = ''] = /^START WAL LOCATION: \S+ \(file (\w+)\)$/m.exec(label) ?? [];
  expect(readdirSync(join(copy, 'postgres/pg_wal'))).toContain(firstSegment);
  const pglite = await startPglite({ dataDir: join(copy, 'postgres'), extensions: { amcheck } });
  try {
    await pglite.exec('create extension amcheck');
    await pglite.query(
      `select bt_index_check(c.oid, true) from pg_class c join pg_am a on a.oid = c.relam where a.amname = 'btree' and c.relkind = 'i'`,
    );
    const corrupt = await pglite.query(
      `select c.relname, v.* from pg_class c, lateral verify_heapam(c.oid) v where c.relkind in ('r', 't') and c.relpersistence = 'p'`,
    );
    expect(corrupt.rows).toEqual([]);
    const { rows } = await pglite.query<{ domain: string }>('select domain from websites');
    return new Set(rows.map(({ domain }) => domain));
  } finally {
    await pglite.close();
  }
}

test('backups under load are intact and contain every acknowledged write; a service starts on one', async () => {
  const service = await serve();
  await service.api.post('/api/providers', { json: { provider_type: 'telegram', chat_id: '1', token } });
  const writing = startWriting(service);
  const before: string[][] = [];
  for (let n = 0; n < backups; n++) {
    const count = writing.acknowledged.length;
    await expect.poll(() => writing.acknowledged.length, { timeout: 60_000 }).toBeGreaterThan(count + 20);
    before.push([...writing.acknowledged]);
    expect(await backUp(`backup-${n}`)).toEqual({
      code: 0,
      printed: `Backed up the database to ${deployment.folder}/backup-${n}. It contains the secret key: protect it like a password.\n`,
    });
    expect(writing.acknowledged.length).toBeGreaterThan(before[n]?.length ?? 0); // Requests went on during the backup.
  }
  await writing.stop();
  expect(await backUp('backup-0')).toEqual({
    code: 1,
    printed: `The folder ${deployment.folder}/backup-0 is not empty. Name a new one.\n`,
  });
  expect(await backUp('/proc/x/y')).toEqual({
    code: 1,
    printed: expect.stringMatching(/^The backup cannot be written to \/proc\/x\/y: [^\n]+\n$/),
  });
  expect(await backUp('data/postgres/inside')).toEqual({
    code: 1,
    printed: `${deployment.folder}/data/postgres/inside is inside the database. Name a folder in another place.\n`,
  });
  expect(readdirSync(deployment.folder).filter((file) => file.includes('.unfinished-'))).toEqual([]);
  service.child.kill('SIGKILL'); // A restore after a disaster.
  await service.ended;
  for (const [n, domains] of before.entries()) {
    const stored = await verifyBackup(`backup-${n}`);
    expect(domains.filter((domain) => !stored.has(domain))).toEqual([]);
  }

  const folder = join(deployment.folder, 'backup-0');
  expect([(statSync(folder).mode & 0o777).toString(8), readdirSync(folder).sort()]).toEqual(['700', ['postgres', 'secret.key']]);
  const restored = await serve({ DATA_DIR: folder });
  const [provider] = (await restored.api.get('/api/providers')).body.data;
  expect((await restored.api.post(`/api/providers/${provider.id}/test`)).status).toBe(200);
  expect(telegram.requests.at(-1)?.path).toContain(`/bot${token}/`);
  expect((await restored.api.post('/api/v1/websites', { form: { domain: 'restored.example' } })).status).toBe(201);
  restored.child.kill('SIGKILL');
  await restored.ended;

  // The service is stopped, and the command opens the database itself.
  const stopped = await backUp('stopped', '--without-key');
  expect([stopped.code, stopped.printed, readdirSync(join(deployment.folder, 'stopped'))]).toEqual([
    0,
    expect.stringContaining('It does not contain the secret key: keep a copy of secret.key in another place.'),
    ['postgres'],
  ]);
  expect((await verifyBackup('stopped')).size).toBe(writing.acknowledged.length);
}, 300_000);

const slots = () => readdirSync(join(deployment.folder, 'data/postgres/pg_replslot'));

/** Starts a backup that does not end before `release`: copying a named pipe takes until something is written to it. */
async function startEndlessBackup(name: string) {
  const pipe = join(deployment.folder, 'data/postgres/pipe');
  expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
  const result = backUp(name);
  await expect.poll(slots, { timeout: 60_000 }).toHaveLength(1);
  return { result, release: () => writeFile(pipe, ''), remove: () => rmSync(pipe) };
}

test('while a backup runs, another one is rejected', async () => {
  const service = await serve();
  const { result, release, remove } = await startEndlessBackup('running');
  expect(await backUp('rejected')).toEqual({ code: 1, printed: 'Another backup is running. Wait until it has finished.\n' });
  await release();
  expect((await result).code).toBe(0);
  remove();
  expect((await backUp('afterwards')).code).toBe(0);
  service.child.kill('SIGKILL');
  await service.ended;
}, 120_000);

test('the first start after a backup was killed keeps no WAL for it', async () => {
  const service = await serve();
  const { result, remove } = await startEndlessBackup('killed');
  service.child.kill('SIGKILL');
  await service.ended;
  remove();
  expect((await result).code).toBe(1);
  expect(slots()).toHaveLength(1);
  const next = await serve();
  expect(slots()).toEqual([]);
  expect((await backUp('after-the-kill')).code).toBe(0);
  next.child.kill('SIGKILL');
  await next.ended;
}, 120_000);

test('a mount point is rejected before anything is copied', async ({ skip }) => {
  const mounted = join(deployment.folder, 'mounted');
  mkdirSync(mounted);
  if (spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', mounted]).status !== 0) skip('needs the right to mount');
  try {
    const rejected = { code: 1, printed: `${mounted} is a mount point. Name a new folder inside it.\n` };
    expect([await backUp('mounted'), await backUp('mounted/')]).toEqual([rejected, rejected]);
    expect((await backUp('mounted/inside')).code).toBe(0);
  } finally {
    spawnSync('umount', [mounted]);
  }
}, 120_000);

test('with PostgreSQL, the command names pg_dump', async () => {
  const settings = { DATABASE_URL: 'postgres://sitekeeper@127.0.0.1:1/x', SECRET_KEY: Buffer.alloc(32, 1).toString('base64') };
  expect(await runCommand(deployment.folder, ['backup', 'x'], { settings })).toEqual({
    code: 1,
    printed: 'DATABASE_URL is set. Back up a PostgreSQL server with pg_dump, as docs/backup.md describes.\n',
  });
});
