import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { collectOutput, inheritedVariables } from '../support/process.ts';

export const ownCheckout = join(import.meta.dirname, '../..');

interface CommandOptions {
  /** Written to standard input. */
  input?: string;
  settings?: Record<string, string>;
  /** The checkout whose code runs. */
  checkout?: string;
}

export interface CommandResult {
  code: number | string;
  printed: string;
}

/** Runs a command in a folder until it exits, as an operator does, with only these settings. */
export async function runCommand(
  folder: string,
  args: string[],
  { input = '', settings = {}, checkout = ownCheckout }: CommandOptions = {},
): Promise<CommandResult> {
  const child = spawn(process.execPath, [join(checkout, 'src/cli/bin.mjs'), ...args], {
    cwd: folder,
    env: { ...inheritedVariables(), ...settings },
  });
  child.stdin.end(input);
  const { ended, printed } = collectOutput(child);
  return { code: await ended, printed: printed() };
}
