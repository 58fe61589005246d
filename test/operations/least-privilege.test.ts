// A server as deploy/create-database.sql sets it up. Only `migrate` gets the owner's login; serve and worker get only their own.
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { runCommand } from '../cli/run-command.ts';
import { Deployment } from '../faults/support/deployment.ts';
import { createPostgres, type PostgresServer } from '../faults/support/postgres.ts';

const script = join(import.meta.dirname, '../../deploy/create-database.sql');

describe.runIf(process.env.TEST_DATABASE_URL)('on a fresh PostgreSQL server', () => {
  let server: PostgresServer;
  /** The login of the service, as the script creates it. */
  let url: string;
  let deployment: Deployment;
  let folder: string;

  beforeAll(async () => {
    server = await createPostgres(async (superuserUrl) => {
      const passwords = { DB_OWNER_PASSWORD: 'of-the-owner', DB_PASSWORD: 'of-the-service' };
      await promisify(execFile)('psql', ['-f', script, superuserUrl], { env: { ...process.env, ...passwords } });
    });
    url = server.ownerUrl.replace('//sitekeeper_owner@', '//sitekeeper:of-the-service@');
    deployment = await Deployment.create({ DATABASE_URL: url });
    folder = await mkdtemp(join(tmpdir(), 'sitekeeper-least-privilege-'));
  });
  afterAll(async () => {
    await deployment?.remove();
    await server?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  const ownerConnections = async () => {
    const client = new pg.Client({ connectionString: server.ownerUrl });
    await client.connect();
    const { rows } = await client.query(
      `select application_name from pg_stat_activity where usename = 'sitekeeper_owner' and pid <> pg_backend_pid()`,
    );
    await client.end();
    return rows;
  };

  // One test, because each step needs the state of the one before.
  test('serve and worker refuse an unmigrated database; after migrate they need only the login of the service', async () => {
    const settings = { DATABASE_URL: url, SECRET_KEY: Buffer.alloc(32, 1).toString('base64'), PORT: '0' };
    for (const command of ['serve', 'worker']) {
      const { code, printed } = await runCommand(folder, [command], { settings });
      expect([code, printed]).toEqual([
        1,
        expect.stringMatching(/^Cannot start\. The database is not migrated [^\n]*"sitekeeper migrate"[^\n]*\n$/),
      ]);
    }

    // Migrations encrypt nothing, so the one process with the owner's login does not get the secret key.
    const migrated = await runCommand(folder, ['migrate'], { settings: { DATABASE_URL: url, MIGRATE_DATABASE_URL: server.ownerUrl } });
    expect(migrated).toEqual({ code: 0, printed: expect.stringContaining('"msg":"Database migrated"') });

    const service = await deployment.serve({}, ['serve', '--no-engine']);
    await deployment.startWorker();
    expect((await service.api.get('/readyz')).status).toBe(200);
    const { body } = await service.api.post('/api/monitors', { json: { friendly_name: 'Itself', url: `${service.url}/healthz` } });
    const status = async () => (await service.api.get(`/api/monitors/${body.data.id}`)).body.data.status;
    await vi.waitFor(async () => expect(await status()).toBe('up'), { timeout: 30_000 });
    expect(await ownerConnections()).toEqual([]);
  });

  describe('a service that got the login of the owner', () => {
    let path: string;
    let environmentOfFping: string;

    beforeEach(() => {
      // A program with the name of fping, which stores the environment that it gets.
      const bin = join(folder, 'bin');
      environmentOfFping = join(folder, 'environment');
      mkdirSync(bin, { recursive: true });
      writeFileSync(
        join(bin, 'fping'),
        `#!/bin/sh\nenv >'${environmentOfFping}.new' && mv '${environmentOfFping}.new' '${environmentOfFping}'\nexit 4\n`,
      );
      chmodSync(join(bin, 'fping'), 0o755);
      path = `${bin}:${process.env.PATH}`;
    });
    afterEach(() => rm(environmentOfFping, { force: true }));

    test('does not keep it after migrating: neither for connections nor for child processes', async () => {
      const owner = { MIGRATE_DATABASE_URL: server.ownerUrl };
      const service = await deployment.serve({ PATH: path, ...owner });
      await service.api.post('/api/monitors', { json: { friendly_name: 'Loopback', url: '127.0.0.1', type: 'ping' } });
      await vi.waitFor(() => expect(existsSync(environmentOfFping)).toBe(true), { timeout: 30_000 });
      expect(readFileSync(environmentOfFping, 'utf8')).not.toContain('sitekeeper_owner');
      expect(await ownerConnections()).toEqual([]);
    });

    test('passes it only to the worker of a cluster that migrates', async () => {
      const service = await deployment.serve({ MIGRATE_DATABASE_URL: server.ownerUrl }, ['serve', '--workers', '2']);
      await vi.waitFor(() => expect(service.printed()).toContain('2 workers are ready'), { timeout: 60_000 });
      const children = readFileSync(`/proc/${service.child.pid}/task/${service.child.pid}/children`, 'utf8').trim().split(' ');
      const withLogin = children.filter((pid) => readFileSync(`/proc/${pid}/environ`, 'utf8').includes('sitekeeper_owner'));
      expect([children.length, withLogin.length]).toEqual([2, 1]);
    });
  });

  test('every secret of a process can be in a file', async () => {
    const secrets = { DATABASE_URL: url, SECRET_KEY: Buffer.alloc(32, 1).toString('base64'), OWNER_API_KEY: deployment.key };
    const files = Object.entries(secrets).map(([name, value]) => {
      writeFileSync(join(folder, name), `${value}\n`, { mode: 0o600 });
      return [`${name}_FILE`, join(folder, name)];
    });
    const empty = Object.fromEntries(Object.keys(secrets).map((name) => [name, '']));
    const service = await deployment.serve({ ...empty, ...Object.fromEntries(files) }, ['serve', '--no-engine']);
    expect((await service.api.get('/api/monitors')).status).toBe(200);
    expect(readFileSync(`/proc/${service.child.pid}/environ`, 'utf8')).not.toContain('of-the-service');
  });
});
