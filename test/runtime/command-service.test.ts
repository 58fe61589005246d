import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { commandSocketIn, ownVersion } from '../../src/commands/request.ts';
import { readConfig } from '../../src/config/config.ts';
import { sendCommand } from '../../src/net/command-socket.ts';
import { startCommandService } from '../../src/runtime/command-service.ts';
import { createDatabase } from '../support/database.ts';

test('runs known commands of the same version, for the user of the service only', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-commands-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const database = await createDatabase();
  onTestFinished(() => database.close());
  const service = await startCommandService({ database, secretKeys: [] }, readConfig({ DATA_DIR: folder }), pino({ level: 'silent' }));
  onTestFinished(() => service.close());
  const path = commandSocketIn(folder);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const send = (request: object) => sendCommand(path, { command: 'user list', input: { after: 0 }, ...request }, () => {});
  expect(await send({ version: ownVersion })).toEqual([]);
  await expect(send({ version: '0.0.1' })).rejects.toThrow(`The running service has the version ${ownVersion}, this command has 0.0.1.`);
  await expect(send({})).rejects.toThrow('this command has undefined');
  await expect(send({ version: ownVersion, command: 'toString' })).rejects.toThrow('does not know the command "toString"');
});
