import { execFile } from 'node:child_process';
import { isIP } from 'node:net';
import { programEnvironment } from '../config/program-environment.ts';
import { NetworkError, toNetworkError } from './network-error.ts';

/**
 * Pings addresses. Returns the fastest response of each in milliseconds, or the error that prevented the ping.
 * Addresses that did not respond are missing from the result.
 */
export type Ping = (addresses: string[], requests: number) => Promise<Map<string, number | NetworkError>>;

/** fping comes first, because it pings many addresses with one process. */
const programs: Record<string, Ping> = { fping: pingWithFping, ping: pingWithPing };

/** Returns the first of these programs that is allowed to ping on this machine. */
export async function findPing(names = Object.keys(programs)): Promise<Ping | undefined> {
  for (const name of names) {
    const responses = await programs[name]?.(['127.0.0.1'], 1).catch(() => undefined);
    if (typeof responses?.get('127.0.0.1') === 'number') return programs[name];
  }
  return undefined;
}

const requestCount = 3;
/** How long a program waits for each reply. All checks that it runs for share this time. */
export const replySeconds = 2;
const collectMs = 50;
const findAgainMs = 10_000;

/** Pings the addresses of concurrent checks with one call. */
export class Pinger {
  readonly #find: () => Promise<Ping | undefined>;
  #found: { ping: Promise<Ping | undefined>; atMs: number };
  #collected = new Map<string, PromiseWithResolvers<number | NetworkError | undefined>>();

  /** `find` returns undefined if this machine cannot ping. It is called again when a program fails: it may have been removed. */
  constructor(find: () => Promise<Ping | undefined>) {
    this.#find = find;
    this.#found = { ping: find(), atMs: performance.now() };
  }

  /** Resolves with the fastest response in milliseconds, or undefined if there was none. */
  ping(address: string): Promise<number | NetworkError | undefined> {
    if (this.#collected.size === 0) setTimeout(() => void this.#pingCollected(), collectMs);
    const response = this.#collected.get(address) ?? Promise.withResolvers();
    this.#collected.set(address, response);
    return response.promise;
  }

  async #pingCollected() {
    const collected = this.#collected;
    this.#collected = new Map();
    try {
      const responses = await this.#pingAll([...collected.keys()]);
      for (const [address, { resolve }] of collected) resolve(responses.get(address));
    } catch (error) {
      for (const { reject } of collected.values()) reject(error);
    }
  }

  async #pingAll(addresses: string[]): Promise<Awaited<ReturnType<Ping>>> {
    const ping = (await this.#found.ping) ?? (await this.#findAgain());
    if (!ping) throw new NetworkError('not_sent', 'this service cannot ping: neither fping nor ping works here');
    return ping(addresses, requestCount).catch(async (error) => {
      const other = await this.#findAgain();
      if (other === ping) throw error;
      return this.#pingAll(addresses);
    });
  }

  #findAgain(): Promise<Ping | undefined> {
    if (performance.now() - this.#found.atMs >= findAgainMs) this.#found = { ping: this.#find(), atMs: performance.now() };
    return this.#found.ping;
  }
}

async function pingWithFping(addresses: string[], requests: number): Promise<Map<string, number>> {
  const options = ['-C', String(requests), '-q', '-i', '1', '-t', String(replySeconds * 1000), '-p', '500'];
  // It prints one line per address, such as "192.0.2.1 : 0.45 - 0.51", and exits with 1 if some did not respond.
  const { code, stderr } = await run('fping', [...options, ...addresses.filter(isAddress)]);
  if (code > 2) throw programFailed('fping', stderr);
  const responses = new Map<string, number>();
  for (const line of stderr.split('\n')) {
    const [address = '', listed = ''] = line.split(' : ');
    const times = listed.split(' ').map(Number.parseFloat).filter(Number.isFinite);
    if (times.length > 0) responses.set(address.trim(), Math.min(...times));
  }
  return responses;
}

async function pingWithPing(addresses: string[], requests: number): Promise<Map<string, number | NetworkError>> {
  const responses = new Map<string, number | NetworkError>();
  await Promise.all(
    addresses.filter(isAddress).map(async (address) => {
      const { code, stdout, stderr } = await run('ping', [
        '-n',
        '-q',
        '-c',
        String(requests),
        '-i',
        '0.5',
        '-W',
        String(replySeconds),
        address,
      ]);
      const [, fastest] = /= ([\d.]+)\//.exec(stdout) ?? [];
      if (code > 1) responses.set(address, programFailed('ping', stderr));
      else if (fastest !== undefined) responses.set(address, Number(fastest));
    }),
  );
  return responses;
}

/** The output contains the addresses of several users, so only the operator sees it. */
function programFailed(program: string, output: string): NetworkError {
  return new NetworkError('not_sent', `${program} failed on this machine`, { cause: new Error(output.slice(0, 200)) });
}

/** Only IP addresses become arguments, so that nothing can be taken for an option. */
function isAddress(text: string): boolean {
  return isIP(text) !== 0;
}

const timeoutMs = 15_000;

function run(program: string, args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { timeout: timeoutMs, maxBuffer: 16 * 1024 * 1024, env: programEnvironment() }, (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number') reject(isLocal(error) ? toNetworkError(error) : programFailed(program, error.message));
      else resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });
}

/** Whether this machine had no resources for another process. */
function isLocal({ code }: { code?: unknown }): boolean {
  return ['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM'].includes(String(code));
}
