import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ticksPerSecond = 100;

/** A server under test, in a process of its own. */
export class Contender {
  readonly name: string;
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(name: string, url: string, child: ChildProcess) {
    this.name = name;
    this.url = url;
    this.#child = child;
  }

  /** Starts a script that prints where it listens, and then logs to a file as it would in earnest. */
  static async start(name: string, script: string[], env: Record<string, string>, logFolder: string): Promise<Contender> {
    const log = join(logFolder, `${name}.log`);
    const out = openSync(log, 'w');
    const child = spawn(process.execPath, script, { env: { PATH: process.env.PATH, ...env }, stdio: ['ignore', out, out] });
    closeSync(out);
    for (let wait = 0; wait < 300; wait++) {
      const [, url] = /Listening on (http:[^"\s]+)/.exec(readFileSync(log, 'utf8')) ?? [];
      if (url) return new Contender(name, url, child);
      if (child.exitCode !== null) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    child.kill('SIGKILL');
    throw new Error(`${name} did not start:\n${readFileSync(log, 'utf8')}`);
  }

  /** Processor time spent so far, in and for the process. */
  cpuSeconds(): number {
    const fields = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
  }

  memoryMegabytes(): number {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.#child.pid}/status`, 'utf8'))?.[1]) / 1024;
  }

  async stop() {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill('SIGTERM');
    await ended;
  }
}
