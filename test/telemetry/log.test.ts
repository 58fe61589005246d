// The log of a process whose output is a pipe: lines are buffered, and none is lost when the process ends.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { collectOutput } from '../support/process.ts';

const source = join(import.meta.dirname, '../../src');

/** Runs a script that has `log` and `onShutdown`. */
function runScript(script: string) {
  const imports = `
    import { createLog } from '${source}/telemetry/log.ts';
    import { onShutdown } from '${source}/runtime/shutdown.ts';
    const log = createLog({ logLevel: 'debug' }, 'serve');
  `;
  const args = ['--no-warnings', '--input-type=module', '-e', imports + script];
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

const stay = 'setInterval(() => {}, 1000);';

test.each([
  ['when the process has nothing left to do', 'log.info("100");'],
  ['at process.exit', 'log.info("100"); process.exit(0);'],
  ['after a shutdown', `${stay} onShutdown(async () => log.info('100'), log); process.kill(process.pid, 'SIGTERM');`],
])('writes all lines, each of them whole, %s', async (_, end) => {
  const running = collectOutput(runScript(`for (let n = 0; n < 100; n++) log.info({ text: 'x'.repeat(n * 10) }, String(n)); ${end}`));
  expect(await running.ended).toBe(0);
  const lines = running.printed().trim().split('\n');
  const messages = lines.map((line) => Number(JSON.parse(line).msg));
  expect(messages.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 101 }, (_, n) => n));
});

test('writes a single line while the process keeps running', async () => {
  const child = runScript(`log.info('started'); ${stay}`);
  const [line] = await once(child.stdout, 'data');
  expect(JSON.parse(line)).toMatchObject({ msg: 'started' });
  child.kill('SIGKILL');
});

test('a shutdown ends normally if the reader of the log has exited', async () => {
  const child = runScript(`log.info('started'); ${stay} onShutdown(async () => log.info('stopping'), log);`);
  await once(child.stdout, 'data');
  child.stdout.destroy();
  await once(child.stdout, 'close');
  child.kill('SIGINT');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

test('logs the message of an error, and nothing that a driver has attached to it', async () => {
  const running = collectOutput(
    runScript(`log.error({ err: Object.assign(new Error('failed'), { params: ['hunter2'], sql: 'hunter2' }) });`),
  );
  expect(await running.ended).toBe(0);
  expect(JSON.parse(running.printed()).err).toEqual({ type: 'Error', message: 'failed', stack: expect.any(String) });
});
