import { execFile } from 'node:child_process';
import { isIP } from 'node:net';
import { OurFault } from './our-fault.ts';

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

const timeoutMs = 15_000;

function run(program: string, args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { timeout: timeoutMs, maxBuffer: 16 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number') reject(new OurFault(`${program} cannot be run: ${error.message}`));
      else resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });
}
