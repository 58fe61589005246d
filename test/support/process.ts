import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

const here = join(import.meta.dirname, '../..');

export interface Running {
  child: ChildProcess;
  /** All that was printed so far, on both outputs. */
  printed(): string;
  /** Resolves with the exit code, or the signal that ended it. */
  ended: Promise<number | string>;
}

/** The service as an operator runs it: a process of its own, with only these settings; of this checkout or another. */
export function run(folder: string, settings: Record<string, string> = {}, args: string[] = [], checkout = here): Running {
  const { PATH, HOME } = process.env;
  return follow(
    spawn(process.execPath, [join(checkout, 'src/cli/bin.mjs'), ...args], {
      cwd: folder,
      env: { PATH, HOME, ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
}

/** Keeps what a process prints. It has ended when the last that holds its output has, be it a child of its own. */
export function follow(child: ChildProcess): Running {
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

/** Waits until the service says where it listens, and returns that address. */
export async function listening(running: Running): Promise<string> {
  for (let wait = 0; wait < 900; wait++) {
    const [, url] = /[Ll]istening on (http:[^"\s]+?)\.?["\s]/.exec(running.printed()) ?? [];
    if (url) return url;
    if (running.child.exitCode !== null) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  running.child.kill('SIGKILL');
  throw new Error(`The service did not start:\n${running.printed()}`);
}
