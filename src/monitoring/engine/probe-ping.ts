import { execFile } from 'node:child_process';
import { isIP } from 'node:net';
import { NetFault } from '../../net/net-fault.ts';
import { type Net, resolveHost } from '../../net/resolve.ts';
import { pingHost } from '../monitors/monitor.target.ts';
import { OurFault } from './our-fault.ts';
import type { CheckResult } from './transition.ts';

const requests = 3;
const timeoutMs = 10_000;

/** Answers to echo requests of each address, in milliseconds; an address that did not answer has none. */
export type Ping = (addresses: string[], requests: number) => Promise<Map<string, number[]>>;

/** The program of this machine that may ping; undefined where none may. fping takes many addresses at once. */
export async function findPing(): Promise<{ name: string; ping: Ping } | undefined> {
  for (const [name, ping] of [
    ['fping', pingWithFping],
    ['ping', pingWithPing],
  ] as const) {
    const answers = await ping(['127.0.0.1'], 1).catch(() => undefined);
    if (answers?.get('127.0.0.1')?.length) return { name, ping };
  }
  return undefined;
}

/** The checks of many ping monitors at once: up when one echo request is answered. */
export async function probePings(targets: string[], net: Net, ping: Ping): Promise<(CheckResult | OurFault)[]> {
  const resolved = await Promise.all(targets.map((target) => resolveTarget(target, net)));
  const addresses = [...new Set(resolved.filter((found) => typeof found === 'string'))];
  const answers = addresses.length > 0 ? await ping(addresses, requests) : new Map<string, number[]>();
  return resolved.map((found) => {
    if (typeof found !== 'string') return found;
    const times = answers.get(found) ?? [];
    if (times.length === 0) return { up: false, cause: `no answer to ${requests} echo requests`, statusCode: null };
    return { up: true, responseTimeMs: Math.min(...times) };
  });
}

/** The judged address to ping, or what is known without pinging. */
async function resolveTarget(target: string, net: Net): Promise<string | CheckResult | OurFault> {
  try {
    const [first] = await resolveHost(pingHost(target) ?? '', net);
    return first?.address ?? { up: false, cause: 'DNS name not found', statusCode: null };
  } catch (error) {
    if (!(error instanceof NetFault)) throw error;
    if (error.kind === 'our_side') return new OurFault(error.message);
    return { up: false, cause: error.kind === 'address_not_allowed' ? 'address_not_allowed' : error.message, statusCode: null };
  }
}

async function pingWithFping(addresses: string[], requests: number): Promise<Map<string, number[]>> {
  // One line an address: "192.0.2.1 : 0.45 - 0.51". It exits with 1 when some did not answer.
  const { code, stderr } = await run('fping', ['-C', String(requests), '-q', '-t', '2000', '-p', '500', ...addresses.filter(isAddress)]);
  if (code > 2) throw new OurFault(`fping failed: ${stderr.slice(0, 200)}`);
  const answers = new Map<string, number[]>();
  for (const line of stderr.split('\n')) {
    const [address, times] = line.split(' : ');
    if (address && times) answers.set(address.trim(), times.split(' ').map(Number).filter(Number.isFinite));
  }
  return answers;
}

async function pingWithPing(addresses: string[], requests: number): Promise<Map<string, number[]>> {
  const answers = await Promise.all(
    addresses.filter(isAddress).map(async (address) => {
      const { code, stdout, stderr } = await run('ping', ['-n', '-q', '-c', String(requests), '-i', '0.5', '-W', '2', address]);
      if (code > 1) throw new OurFault(`ping failed: ${stderr.slice(0, 200)}`);
      const [, best] = /= ([\d.]+)\//.exec(stdout) ?? [];
      return [address, best === undefined ? [] : [Number(best)]] as const;
    }),
  );
  return new Map(answers);
}

/** Only plain addresses become arguments: nothing that could be taken for an option or read by a shell. */
function isAddress(text: string): boolean {
  return isIP(text) !== 0;
}

function run(program: string, args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { timeout: timeoutMs + 5000, maxBuffer: 16 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number') reject(new OurFault(`${program} cannot be run: ${error.message}`));
      else resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });
}
