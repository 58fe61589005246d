import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, vi } from 'vitest';
import { collectOutput, inheritedVariables } from '../support/process.ts';
import { ownCheckout } from './run-command.ts';

/** Runs a command on a terminal of its own, and types each answer when its question is shown. Returns the lines that are shown. */
export async function runOnTerminal(folder: string, args: string[], answers: [question: string, typed: string][] = []) {
  const command = ['exec', process.execPath, join(ownCheckout, 'src/cli/bin.mjs'), ...args].join(' ');
  const env = { ...inheritedVariables(), SHELL: '/bin/sh' };
  const { child, ended, printed } = collectOutput(spawn('script', ['-qefc', command, '/dev/null'], { cwd: folder, env }));
  for (const [question, typed] of answers) {
    await vi.waitFor(() => expect(printed()).toContain(question), { timeout: 20_000 });
    child.stdin?.write(typed);
  }
  child.stdin?.end(); // Whatever else it asks is canceled.
  return {
    code: await ended,
    lines: stripVTControlCharacters(printed())
      .trim()
      .split(/[\r\n]+/),
  };
}
