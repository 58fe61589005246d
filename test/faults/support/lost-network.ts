// Runs the service in a network of its own, and breaks that. Prints what happened to the monitors as JSON. It is started with:
//   unshare -rnm --kill-child node test/faults/support/lost-network.ts <scenario>
// The service is in this network namespace, together with its DNS server. Its targets are in another one, behind a cable (veth).
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { generateKey } from '../../../src/auth/api-key.ts';
import { type DnsAnswer, startDnsServer } from '../../support/dns-server.ts';
import { run, waitUntilListening } from '../../support/process.ts';

interface Monitor {
  id: number;
  friendly_name: string;
  status: string;
  last_error: string | null;
}

const targetAddresses = ['10.9.0.2', '10.9.0.3', '10.9.0.4', '10.9.0.5', '10.9.0.6'];
const [scenario = ''] = process.argv.slice(2);

if (scenario === 'targets') {
  createServer((_, response) => response.end('ok')).listen(80, () => console.log('listening'));
} else {
  const folder = mkdtempSync(join(tmpdir(), 'sitekeeper-network-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  console.log(JSON.stringify(await (scenario === 'uplink' ? loseUplink(folder) : loseNames(folder))));
  process.exit();
}

/** Starts targets in a network namespace of their own, and lays the cable. */
async function startTargets() {
  const targets = spawn('unshare', ['-n', process.execPath, import.meta.filename, 'targets'], { stdio: ['ignore', 'pipe', 'inherit'] });
  process.once('exit', () => targets.kill('SIGKILL'));
  await once(targets.stdout, 'data');
  const ip = (command: string) => execFileSync('ip', command.split(' '));
  const ipOfTargets = (command: string) => execFileSync('nsenter', ['-t', String(targets.pid), '-n', 'ip', ...command.split(' ')]);
  ip('link set lo up');
  ip(`link add cable type veth peer name end netns ${targets.pid}`);
  ip('address add 10.9.0.1/24 dev cable');
  ip('link set cable up');
  for (const address of targetAddresses) ipOfTargets(`address add ${address}/24 dev end`);
  ipOfTargets('link set end up');
  return { cut: () => ipOfTargets('link set end down'), mend: () => ipOfTargets('link set end up') };
}

/** The DNS server of this machine, which goes on answering without a network. */
async function startLocalDns(folder: string, answers: Map<string, DnsAnswer>) {
  await startDnsServer((name) => (answers.has(name) ? answers.get(name) : null), 53);
  const file = join(folder, 'resolv.conf');
  writeFileSync(file, 'nameserver 127.0.0.1\n');
  execFileSync('mount', ['--bind', file, '/etc/resolv.conf']);
}

/** Starts the service with its own folder of ping programs, and monitors that are all up. */
async function startService(folder: string, targets: { url: string; type?: string }[]) {
  const programs = join(folder, 'programs');
  mkdirSync(programs);
  for (const name of ['fping', 'ping']) {
    const [path = ''] = execFileSync('sh', ['-c', `command -v ${name} || true`], { encoding: 'utf8' }).split('\n');
    if (path !== '') symlinkSync(path, join(programs, name));
  }
  const key = generateKey();
  const settings = { DATA_DIR: join(folder, 'data'), PORT: '0', NET_ALLOW: '10.9.0.0/24', OWNER_API_KEY: key, PATH: programs };
  const service = run(folder, settings, ['serve']);
  process.once('exit', () => service.child.kill('SIGKILL'));
  const origin = await waitUntilListening(service);
  const request = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${origin}/api${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const { data } = (await response.json()) as { data: never };
    return data;
  };
  for (const target of targets) await request('POST', '/monitors', { friendly_name: target.url, interval: 30, ...target });
  const read = (): Promise<Monitor[]> => request('GET', '/monitors?pageSize=100');
  await waitUntil(read, (monitors) => monitors.every(({ status }) => status === 'up'), 60);
  return {
    service,
    read,
    checkAll: async () => {
      for (const { id } of await read()) await request('POST', `/monitors/${id}/check`);
    },
    readIncidents: async () => (await Promise.all((await read()).map(({ id }) => request('GET', `/monitors/${id}/incidents`)))).flat(),
  };
}

/** Polls until a condition holds, but at most for some seconds. Returns everything that was read. */
async function waitUntil<T>(read: () => Promise<T>, isReached: (value: T) => boolean, seconds: number): Promise<T[]> {
  const values: T[] = [];
  const until = performance.now() + seconds * 1000;
  for (;;) {
    const value = await read();
    values.push(value);
    if (isReached(value) || performance.now() > until) return values;
    await delay(250);
  }
}

/** The network of the machine is gone, and is back after more than a minute. */
async function loseUplink(folder: string) {
  const { cut, mend } = await startTargets();
  const names = ['a.example', 'b.example', 'c.example', 'd.example'];
  await startLocalDns(folder, new Map(names.map((name, index) => [name, targetAddresses[index] ?? null])));
  const { read, checkAll, readIncidents } = await startService(folder, [
    ...names.map((name) => ({ url: `http://${name}/` })),
    { url: '10.9.0.6', type: 'ping' },
  ]);
  cut();
  await checkAll();
  const isNoticed = (monitors: Monitor[]) => monitors.every(({ last_error }) => last_error?.endsWith('no network here'));
  const during = await waitUntil(read, isNoticed, 150);
  const errors = during.at(-1)?.map(({ last_error }) => last_error);
  mend();
  await checkAll();
  const after = await waitUntil(read, (monitors) => monitors.every(({ last_error }) => last_error === null), 90);
  const statuses = new Set([...during, ...after].flat().map(({ status }) => status));
  return {
    errors,
    errorsAfterwards: after.at(-1)?.map(({ last_error }) => last_error),
    statuses: [...statuses],
    incidents: await readIncidents(),
  };
}

/** The name servers of three names fail, each in its own way, and the ping programs are removed. One name is left alone. */
async function loseNames(folder: string) {
  await startTargets();
  const names = ['works.example', 'fails.example', 'refused.example', 'silent.example'];
  const answers = new Map<string, DnsAnswer>(names.map((name, index) => [name, targetAddresses[index] ?? null]));
  await startLocalDns(folder, answers);
  const { read, checkAll, readIncidents } = await startService(folder, [
    ...names.map((name) => ({ url: `http://${name}/` })),
    { url: '10.9.0.6', type: 'ping' },
  ]);
  answers.set('fails.example', 'SERVFAIL').set('refused.example', 'REFUSED').set('silent.example', undefined);
  rmSync(join(folder, 'programs'), { recursive: true });
  await checkAll();
  const monitors = (await waitUntil(read, (all) => all.filter(({ status }) => status === 'down').length === 4, 120)).at(-1) ?? [];
  const states = monitors.map(({ friendly_name, status, last_error }) => [friendly_name, status, last_error]);
  return { states: states.toSorted(), incidents: (await readIncidents()).length };
}
