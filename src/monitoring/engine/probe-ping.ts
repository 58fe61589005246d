import { execFile } from 'node:child_process';
import { isIP } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { NetFault } from '../../net/net-fault.ts';
import { type Net, resolveHost } from '../../net/resolve.ts';
import { assertRoute } from '../../net/route.ts';
import { pingHost } from '../monitors/monitor.target.ts';
import { blame, OurFault } from './our-fault.ts';
import type { CheckResult } from './transition.ts';

const requests = 3;
const timeoutMs = 10_000;

/** The quickest answer of each address in milliseconds, or why none could be asked for. Who did not answer is not in it. */
export type Ping = (addresses: string[], requests: number) => Promise<Map<string, number | OurFault>>;

/** fping comes first: it takes many addresses at once. */
const programs: Record<string, Ping> = { fping: pingWithFping, ping: pingWithPing };

/** The first of these programs that may ping on this machine, if one may. */
export async function findPing(names = Object.keys(programs)): Promise<Ping | undefined> {
  for (const name of names) {
    const answers = await programs[name]?.(['127.0.0.1'], 1).catch(() => undefined);
    if (typeof answers?.get('127.0.0.1') === 'number') return programs[name];
  }
  return undefined;
}

/** The checks of many ping monitors at once: up when one echo request is answered. */
export async function probePings(targets: string[], net: Net, ping: Ping): Promise<(CheckResult | OurFault)[]> {
  const resolved = await Promise.all(targets.map((target) => resolveTarget(target, net)));
  const addresses = [...new Set(resolved.filter((found) => typeof found === 'string'))];
  const answers = addresses.length > 0 ? await ping(addresses, requests) : new Map<string, number | OurFault>();
  return Promise.all(
    resolved.map(async (found) => {
      if (typeof found !== 'string') return found;
      const answer = answers.get(found) ?? (await judgeSilence(found));
      return typeof answer === 'number' ? { up: true, responseTimeMs: answer } : answer;
    }),
  );
}

/** The programs do not say whether an echo request was sent at all. */
async function judgeSilence(address: string): Promise<CheckResult | OurFault> {
  const noAnswer = { up: false, cause: `no answer to ${requests} echo requests`, statusCode: null } as const;
  return assertRoute(address).then(() => noAnswer, blame);
}

/** The judged address to ping, or what is known without pinging. */
async function resolveTarget(target: string, net: Net): Promise<string | CheckResult | OurFault> {
  try {
    const [first] = await Promise.race([resolveHost(pingHost(target) ?? '', net), dnsIsLate()]);
    return first?.address ?? { up: false, cause: 'DNS name not found', statusCode: null };
  } catch (error) {
    return blame(error);
  }
}

async function dnsIsLate(): Promise<never> {
  await pause(timeoutMs, undefined, { ref: false });
  throw new NetFault('our_side', `DNS did not answer, timed out after ${timeoutMs / 1000} s`);
}

async function pingWithFping(addresses: string[], requests: number): Promise<Map<string, number>> {
  // One line an address: "192.0.2.1 : 0.45 - 0.51". It exits with 1 when some did not answer.
  const { code, stderr } = await run('fping', [
    '-C',
    String(requests),
    '-q',
    '-i',
    '1',
    '-t',
    '2000',
    '-p',
    '500',
    ...addresses.filter(isAddress),
  ]);
  if (code > 2) throw new OurFault(`fping failed: ${stderr.slice(0, 200)}`);
  const answers = new Map<string, number>();
  for (const line of stderr.split('\n')) {
    const [address = '', listed = ''] = line.split(' : ');
    const times = listed.split(' ').map(Number.parseFloat).filter(Number.isFinite);
    if (times.length > 0) answers.set(address.trim(), Math.min(...times));
  }
  return answers;
}

async function pingWithPing(addresses: string[], requests: number): Promise<Map<string, number | OurFault>> {
  const answers = new Map<string, number | OurFault>();
  await Promise.all(
    addresses.filter(isAddress).map(async (address) => {
      const { code, stdout, stderr } = await run('ping', ['-n', '-q', '-c', String(requests), '-i', '0.5', '-W', '2', address]);
      const [, best] = /= ([\d.]+)\//.exec(stdout) ?? [];
      if (code > 1) answers.set(address, new OurFault(`ping failed: ${stderr.slice(0, 200)}`));
      else if (best !== undefined) answers.set(address, Number(best));
    }),
  );
  return answers;
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
