// What a process does from the signal that stops it to its exit code.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { collectOutput } from '../support/process.ts';

const source = join(import.meta.dirname, '../../src');

/** Runs a script that has `onShutdown`, prints what it logs, and goes on until it is stopped. Returns its exit code and its lines. */
async function runScript(script: string): Promise<[number | string, string[]]> {
  const start = `
    import { onShutdown } from '${source}/runtime/shutdown.ts';
    const log = { error: (...values) => console.log(values.at(-1)) };
    setInterval(() => {}, 1000);
    const stop = (signal = 'SIGTERM') => process.kill(process.pid, signal);
  `;
  const args = ['--no-warnings', '--input-type=module', '-e', start + script];
  const running = collectOutput(spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] }));
  return [await running.ended, running.printed().trim().split('\n')];
}

test.each(['SIGTERM', 'SIGINT'])('after %s a process finishes its work with the signal as the reason, and exits with 0', async (signal) => {
  const script = `onShutdown(async (reason) => console.log(reason), log); stop('${signal}');`;
  expect(await runScript(script)).toEqual([0, [signal]]);
});

test('a process that cannot finish its work exits with 1', async () => {
  const script = "onShutdown(() => Promise.reject(new Error('lost')), log); stop();";
  expect(await runScript(script)).toEqual([1, ['Shutdown failed']]);
});

test('a process that does not finish its work in 9 seconds exits with 1', async () => {
  // A hundredth of the time, so that the test does not wait for it.
  const script = `
    const { setTimeout } = globalThis;
    globalThis.setTimeout = (work, ms) => {
      console.log(ms);
      return setTimeout(work, ms / 100);
    };
    onShutdown(() => new Promise(() => {}), log);
    stop();
  `;
  expect(await runScript(script)).toEqual([1, ['9000', 'Shutdown timed out after 9 s; exiting with unfinished work']]);
});

test('more SIGTERM, and the message of the primary process, do not begin a second shutdown; a second SIGINT ends the process', async () => {
  const script = (then: string) => `
    let count = 0;
    const finish = Promise.withResolvers();
    onShutdown(() => {
      console.log(++count);
      return finish.promise;
    }, log);
    process.emit('SIGTERM', 'SIGTERM');
    process.emit('SIGTERM', 'SIGTERM');
    process.emit('message', { type: 'sitekeeper:stop', reason: 'stopped' });
    ${then}
  `;
  expect(await runScript(script('finish.resolve();'))).toEqual([0, ['1']]);
  expect(await runScript(script("process.emit('SIGINT', 'SIGINT'); stop('SIGINT');"))).toEqual(['SIGINT', ['1']]);
});
