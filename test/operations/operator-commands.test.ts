// Operator commands while the service runs, as an operator runs them: each is a process of its own. With the embedded database
// the service executes them for it.
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { ownCheckout, runCommand } from '../cli/run-command.ts';
import { kill } from '../faults/support/deployment.ts';
import { createDatabase, urlOf } from '../support/database.ts';
import { type RunningProcess, run, waitUntilListening } from '../support/process.ts';

const SECRET_KEY = Buffer.alloc(32, 1).toString('base64');
const password = 'correct horse battery\n';

/** A running service with the folder that it was started in. */
class Installation {
  readonly folder = mkdtempSync(join(tmpdir(), 'sitekeeper-commands-'));
  readonly #settings: Record<string, string>;
  service!: RunningProcess;
  url = '';

  constructor(settings: Record<string, string> = {}) {
    this.#settings = settings;
  }

  async start() {
    this.service = run(this.folder, { ...this.#settings, PORT: '0', LOG_LEVEL: 'trace' });
    this.url = await waitUntilListening(this.service);
  }

  async stop() {
    this.service.child.kill('SIGINT');
    expect(await this.service.ended).toBe(0);
  }

  command(args: string[], input = '') {
    return runCommand(this.folder, args, { input, settings: this.#settings });
  }

  /** Runs a command that succeeds, and returns what it prints. */
  async print(args: string[], input = ''): Promise<string> {
    const { code, printed } = await this.command(args, input);
    expect([args, code, printed]).toEqual([args, 0, printed]);
    return printed;
  }

  async json(args: string[], input = '') {
    return JSON.parse(await this.print([...args, '--json'], input));
  }

  status(key: string, path = '/api/monitors') {
    return fetch(this.url + path, { headers: { Authorization: `Bearer ${key}` } }).then(({ status }) => status);
  }

  async remove() {
    if (this.service) await kill(this.service);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const isEmbedded = !process.env.TEST_DATABASE_URL;

describe.each(isEmbedded ? ['embedded'] : ['PostgreSQL'])('with the %s database, while the service runs', (kind) => {
  let database: Awaited<ReturnType<typeof createDatabase>> | undefined;
  let installation: Installation;

  beforeAll(async () => {
    if (kind === 'PostgreSQL') {
      database = await createDatabase();
      installation = new Installation({ DATABASE_URL: urlOf(database), SECRET_KEY });
    } else installation = new Installation();
    await installation.start();
  }, 120_000);
  afterAll(async () => {
    await installation?.remove();
    await database?.close();
  });

  test('users are added, listed, suspended, resumed and deleted', async () => {
    const ada = await installation.json(['user', 'add', 'ada@example.com'], password);
    expect(ada).toEqual({ id: ada.id, email: 'ada@example.com' });
    const { key } = await installation.json(['key', 'create', '--user', ada.email, '--name', 'CI', '--scopes', 'monitors:read']);
    expect(await installation.status(key)).toBe(200);

    expect(await installation.print(['user', 'suspend', 'ADA@example.com'])).toMatch(/^Suspended user \d+ \(ADA@example\.com\)\. /);
    await vi.waitFor(async () => expect(await installation.status(key)).toBe(401), { timeout: 3500, interval: 20 });
    const users = await installation.json(['user', 'list']);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    const empty = { websites: 0, monitors: 0, providers: 0, keys: 1 };
    expect(users).toEqual([
      { id: expect.any(Number), email: 'owner@sitekeeper.localhost', created_at: time, suspended_at: null, ...empty },
      { ...ada, created_at: time, suspended_at: time, ...empty },
    ]);
    const [, , row] = (await installation.print(['user', 'list'])).split('\n');
    expect(row).toMatch(/^\d+ +suspended +\d{4}-\d\d-\d\d \d\d:\d\d +1 +0 +0 +0 +ada@example\.com$/);

    expect(await installation.json(['user', 'resume', ada.email])).toEqual({ ...ada, suspended: false, changed: true });
    await vi.waitFor(async () => expect(await installation.status(key)).toBe(200), { timeout: 15_000, interval: 200 });

    const refused = await installation.command(['user', 'delete', ada.email]);
    expect(refused).toEqual({ code: 1, printed: 'error: add --yes to delete ada@example.com and all of their data\n' });
    expect(await installation.json(['user', 'delete', ada.email, '--yes'])).toEqual(ada);
    await vi.waitFor(async () => expect(await installation.status(key)).toBe(401), { timeout: 3500, interval: 20 });
    expect(await installation.json(['user', 'list'])).toHaveLength(1);
  });

  test('keys are listed without their secret, and revoked with the keys created with them', async () => {
    const { email } = await installation.json(['user', 'add', 'bob@example.com'], password);
    const create = (name: string) => installation.json(['key', 'create', '--user', email, '--name', name, '--scopes', 'all']);
    const [parent, whole] = [await create('Parent'), await create('Whole')];
    const response = await fetch(`${installation.url}/api/keys`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${parent.key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'Child', scopes: ['monitors:read'] }),
    });
    const { data: child } = (await response.json()) as { data: { id: number; key: string } };

    const listed = await installation.json(['key', 'list', '--user', email]);
    expect(listed.map(({ id, name, user, created_by }: never) => ({ id, name, user, created_by }))).toEqual([
      { id: parent.id, name: 'Parent', user: email, created_by: null },
      { id: whole.id, name: 'Whole', user: email, created_by: null },
      { id: child.id, name: 'Child', user: email, created_by: parent.id },
    ]);
    expect((await installation.json(['key', 'list'])).length).toBeGreaterThan(listed.length);
    const table = await installation.print(['key', 'list']);
    expect(table).toMatch(/^ID +PREFIX +CREATED \(UTC\) +LAST USED +EXPIRES +USER +NAME +SCOPES\n/);
    for (const { key } of [parent, whole, child]) expect(table + JSON.stringify(listed)).not.toContain(key.slice(9));

    expect(await installation.print(['key', 'revoke', parent.prefix])).toBe(
      `Revoked key ${parent.id} (${parent.prefix}…) of ${email} and the key created with it.\n`,
    );
    for (const { key } of [parent, child]) {
      await vi.waitFor(async () => expect(await installation.status(key)).toBe(401), { timeout: 3500, interval: 20 });
    }
    expect(await installation.json(['key', 'revoke', whole.key])).toMatchObject({ id: whole.id, user: email, revoked: 1 });
    expect(await installation.command(['key', 'revoke', String(child.id)])).toEqual({
      code: 1,
      printed: `There is no key with the id ${child.id}.\n`,
    });
    expect(await installation.json(['key', 'list', '--user', email])).toEqual([]);
  });

  test('several commands at once succeed', async () => {
    const emails = ['c1', 'c2', 'c3', 'c4'].map((name) => `${name}@example.com`);
    await Promise.all(emails.map((email) => installation.print(['user', 'add', email], password)));
    const listed: { email: string }[] = await installation.json(['user', 'list']);
    expect(listed.map(({ email }) => email)).toEqual(expect.arrayContaining(emails));
  });

  test('no log line contains a password', () => {
    expect(installation.service.printed()).not.toContain(password.trim());
    expect(installation.service.printed().includes('"command":"user add"')).toBe(kind === 'embedded');
  });

  if (kind === 'PostgreSQL')
    test('there is no socket, and no data directory', () => {
      expect(existsSync(join(installation.folder, 'data'))).toBe(false);
    });

  if (kind === 'embedded')
    test('only the user of the service can open the socket, and it survives hostile clients', async () => {
      const data = join(installation.folder, 'data');
      const socket = join(data, 'commands.sock');
      expect([statSync(data).mode & 0o777, statSync(socket).mode & 0o777]).toEqual([0o700, 0o600]);
      const { version } = packageJson;
      const message = (request: unknown) => exchange(socket, `${JSON.stringify(request)}\n`).then((text) => JSON.parse(text).error.message);
      expect(await message({ version: '0.0.1', command: 'user list', input: { after: 0 } })).toMatch(
        /^The running service has the version \S+, this command has 0\.0\.1\. Restart the service, /,
      );
      for (const command of ['frob', '__proto__', 'toString', 7]) {
        expect(await message({ version, command })).toBe(
          `The running service does not know the command "${command}". Restart the service, or run the command from the installation of the service.`,
        );
      }
      expect(await message(null)).toContain('Restart the service');
      expect(await message({ version, command: 'user add', input: null })).not.toBe('');
      expect(JSON.parse(await exchange(socket, 'nonsense\n')).error.message).toContain('not valid JSON');
      expect(await exchange(socket, 'x'.repeat(1_000_000))).toBe('');
      // A client that sends nothing, and one that does not read, are disconnected.
      expect(await exchange(socket, '')).toBe('');
      expect(await installation.json(['user', 'list'])).not.toEqual([]);
    });

  if (kind === 'embedded')
    test('names in JSON are snake_case, as in the APIs', async () => {
      const folder = join(installation.folder, 'copy');
      expect(await installation.json(['backup', 'copy'])).toEqual({ folder, contains_key: true });
      expect(await installation.json(['secrets', 'rotate'])).toMatchObject({ rotated: 0, keys_in: 'secret.key' });
    });

  if (kind === 'embedded')
    test('an error is the same whether the service executes the command or not', async () => {
      const failing = [
        ['key', 'revoke', 'stkp_none'],
        ['user', 'delete', 'nobody@example.com', '--yes'],
      ];
      const results = async () => {
        const printed = [];
        for (const args of failing) printed.push(await installation.command(args));
        return printed;
      };
      const inService = await results();
      expect(inService.map(({ code }) => code)).toEqual([1, 1]);
      await installation.stop();
      expect(existsSync(join(installation.folder, 'data/commands.sock'))).toBe(false);
      expect(await results()).toEqual(inService);
      await installation.start();
    });

  if (kind === 'embedded')
    test('a socket that a killed service has left behind is no obstacle', async () => {
      const socket = join(installation.folder, 'data/commands.sock');
      await kill(installation.service);
      expect(existsSync(socket)).toBe(true);
      expect((await installation.json(['user', 'list'])).length).toBeGreaterThan(0);
      await installation.start();
      expect((await installation.json(['user', 'list'])).length).toBeGreaterThan(0);
    });
});

test.runIf(isEmbedded)(
  'if the path of the data directory is too long for a socket, the service says that commands need it stopped',
  async () => {
    const installation = new Installation({ DATA_DIR: join('x'.repeat(60), 'y'.repeat(60)) });
    try {
      await installation.start();
      expect(installation.service.printed()).toMatch(
        /Operator commands cannot reach this service, .* its path is longer than a socket allows/,
      );
      expect(await installation.command(['user', 'list'])).toEqual({
        code: 1,
        printed: expect.stringMatching(/^The data directory \S+ is in use by a process that accepts no commands: /),
      });
      await installation.stop();
      expect(await installation.json(['user', 'list'])).toHaveLength(1);
    } finally {
      await installation.remove();
    }
  },
);

test.runIf(isEmbedded)('a command waits for a service that is starting', async () => {
  const installation = new Installation();
  try {
    const started = installation.start();
    // The service creates this file after it has locked the directory.
    await vi.waitFor(() => expect(existsSync(join(installation.folder, 'data/unfinished'))).toBe(true), { timeout: 40_000, interval: 10 });
    expect(await installation.print(['user', 'list'])).toContain('owner@sitekeeper.localhost');
    await started;
  } finally {
    await installation.remove();
  }
});

test('every command says in its help what it does, and every operator command takes --json', async () => {
  const help = async (...args: string[]) => (await runCommand(ownCheckout, [...args, '--help'])).printed;
  for (const [group, names] of [
    ['user', ['add', 'list', 'password', 'suspend', 'resume', 'delete']],
    ['key', ['create', 'list', 'revoke']],
    ['secrets', ['status', 'rotate']],
  ] as const) {
    const text = await help(group);
    for (const name of names) {
      expect(text).toMatch(new RegExp(`^ {2}${name} .* {2}[a-z]`, 'm'));
      expect(text).toMatch(new RegExp(`^ {2}${name} \\[options\\]`, 'm'));
    }
  }
  for (const args of [
    ['user', 'list'],
    ['key', 'revoke'],
  ])
    expect(await help(...args)).toContain('--json');
});

/** Sends text to a socket, and resolves with the response when the service closes the connection. */
function exchange(path: string, text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(path, () => socket.write(text));
    let received = '';
    socket.setEncoding('utf8').on('data', (data) => {
      received += data;
    });
    socket.on('error', () => {}); // A reset also ends the exchange.
    socket.on('close', () => resolve(received));
  });
}
