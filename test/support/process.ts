import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

const ownCheckout = join(import.meta.dirname, '../..');

export interface RunningProcess {
  child: ChildProcess;
  /** Returns everything printed so far on stdout and stderr. */
  printed(): string;
  /** Resolves with the exit code, or with the signal that terminated the process. */
  ended: Promise<number | string>;
}

/** Runs the service as an operator does: as a separate process with only these settings, from this checkout or another one. */
export function run(folder: string, settings: Record<string, string> = {}, args: string[] = [], checkout = ownCheckout): RunningProcess {
  return collectOutput(
    spawn(process.execPath, [join(checkout, 'src/cli/bin.mjs'), ...args], {
      cwd: folder,
      env: { ...inheritedVariables(), ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
}

/** Returns the variables that the tests pass on: those that a process needs to start, and the clock that .ci/in-years sets. */
export function inheritedVariables(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(PATH|HOME|LD_PRELOAD|FAKETIME.*)$/.test(name)));
}

/**
 * Collects the output of a process. The process counts as ended when its output is closed, which includes the output of its
 * child processes.
 */
export function collectOutput(child: ChildProcess): RunningProcess {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (data) => {
      text += data;
    });
  }
  return {
    child,
    printed: () => text,
    ended: new Promise((resolve) => child.on('close', (code, signal) => resolve(code ?? signal ?? ''))),
  };
}

/** Waits until the service prints the URL it listens on, and returns that URL. */
export async function waitUntilListening(running: RunningProcess): Promise<string> {
  for (let attempt = 0; attempt < 900; attempt++) {
    const [, url] = /[Ll]istening on (http:[^"\s]+?)\.?["\s]/.exec(running.printed()) ?? [];
    if (url) return url;
    if (running.child.exitCode !== null) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  running.child.kill('SIGKILL');
  throw new Error(`The service did not start:\n${running.printed()}`);
}
