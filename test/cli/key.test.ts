import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { isWellFormedKey } from '../../src/auth/api-key.ts';
import { runCommand } from './run-command.ts';

// The creation of a key is tested in user.test.ts, which has a user. These commands open no database.

test('key generate prints a new key each time', async () => {
  const keys = await Promise.all([1, 2].map(async () => (await runCommand(tmpdir(), ['key', 'generate'])).printed.trim()));
  expect(keys.map(isWellFormedKey)).toEqual([true, true]);
  expect(keys[0]).not.toBe(keys[1]);
});

const create = (options: Record<string, string>) => [
  'key',
  'create',
  ...Object.entries({ user: 'nobody@example.com', name: 'a', scopes: 'all', ...options }).flatMap(([name, value]) => [`--${name}`, value]),
];

test.each([
  [
    create({ scopes: 'everything' }),
    'error: --scopes: "everything" is not a scope; the scopes are monitors:read, monitors:write, providers:read, providers:write, websites:read, websites:write, or all\n',
  ],
  [create({ expires: '2020-01-01' }), 'error: --expires: must be in the future\n'],
  [
    create({ expires: '+020000-01-01T00:00:00Z' }),
    'error: --expires: must be a date and time, such as 2099-12-31T00:00:00Z, before the year 10000\n',
  ],
  [create({ name: 'a\nb' }), 'error: --name: must have 1 to 100 characters and no control characters\n'],
  [['key', 'create'], "error: required option '--user <email>' not specified\n"],
])('%j is rejected in one line', async (args, printed) => {
  expect(await runCommand(tmpdir(), args)).toEqual({ code: 1, printed });
});
