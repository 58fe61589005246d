import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startStopwatch, tellsWaits } from './stall.ts';

/** Starts a process that does nothing, or that calculates without end. */
function start(script: string) {
  const child = spawn(process.execPath, ['-e', `console.log(); ${script}`], { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return new Promise<typeof child>((resolve) => child.stdout.once('data', () => resolve(child)));
}

test.runIf(tellsWaits)('what a busy service waits for a core is a stall, and what an idle one sleeps is not', async () => {
  const idle = await start('setInterval(() => {}, 1000)');
  const [busy] = await Promise.all(Array.from({ length: 2 * availableParallelism() }, () => start('for (;;);')));
  const [idleElapsed, busyElapsed] = [startStopwatch(idle), startStopwatch(busy)];
  await delay(500);
  const [{ stallMs: idleMs }, { ms, stallMs: busyMs }] = [idleElapsed(), busyElapsed()];
  // Half of the time it runs, and half of the time another one does.
  expect(busyMs - idleMs).toBeGreaterThan(ms / 10);
  expect(busyMs).toBeLessThan(ms);
});
