import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serviceUrl } from '../support/database-url.ts';

/** A server under test, in its own process. */
export class Contender {
  readonly name: string;
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(name: string, url: string, child: ChildProcess) {
    this.name = name;
    this.url = url;
    this.#child = child;
  }

  /** Starts a script that prints the address it listens on. Its log goes to a file, as in production. */
  static async start(name: string, command: string[], settings: Record<string, string>, logFolder: string): Promise<Contender> {
    const log = join(logFolder, `${name}.log`);
    const out = openSync(log, 'w');
    const child = spawn(process.execPath, command, { env: { PATH: process.env.PATH, ...settings }, stdio: ['ignore', out, out] });
    closeSync(out);
    for (let attempt = 0; attempt < 300; attempt++) {
      const [, url] = /Listening on (http:[^"\s]+)/.exec(readFileSync(log, 'utf8')) ?? [];
      if (url) return new Contender(name, url, child);
      if (child.exitCode !== null) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    child.kill('SIGKILL');
    throw new Error(`${name} did not start:\n${readFileSync(log, 'utf8')}`);
  }

  /** Returns the CPU time of all threads so far, user and system time together. */
  cpuSeconds(): number {
    const tasks = `/proc/${this.#child.pid}/task`;
    const nanoseconds = readdirSync(tasks).map((task) => Number(readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')[0]));
    return nanoseconds.reduce((sum, value) => sum + value, 0) / 1e9;
  }

  memoryMegabytes(): number {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.#child.pid}/status`, 'utf8'))?.[1]) / 1024;
  }

  async stop() {
    const exited = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill('SIGTERM');
    await exited;
  }
}

/** Returns the arguments for Node that run `serve` of a checkout. Older checkouts have their entry point at another path. */
export function serveCommand(checkout: string): string[] {
  const entry = ['src/cli/bin.mjs', 'src/start.mjs'].map((path) => join(checkout, path)).find((path) => existsSync(path));
  if (!entry) throw new Error(`${checkout} is not a checkout of Sitekeeper: it has neither src/cli/bin.mjs nor src/start.mjs.`);
  return [entry, 'serve', '--no-engine'];
}

export function serveSettings(ownerUrl: string, { ratePerMinute = 1_000_000 } = {}): Record<string, string> {
  const secretKey = Buffer.alloc(32, 1).toString('base64');
  return {
    DATABASE_URL: serviceUrl(ownerUrl),
    MIGRATE_DATABASE_URL: ownerUrl,
    SECRET_KEY: secretKey,
    PORT: '0',
    RATE_LIMIT_PER_MINUTE: String(ratePerMinute),
  };
}
