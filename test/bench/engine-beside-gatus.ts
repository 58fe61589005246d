// Compares the engine, as a process, with Gatus: CPU time per check, memory, and the time until an alert.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { reservePorts } from '../operations/support/reserve-ports.ts';
import { createAuthority } from '../support/certificates.ts';
import type { RunningProcess } from '../support/process.ts';
import { startWebServer } from '../support/web-server.ts';
import { postmasterOf, startServe, startWorker, stop } from './engine-processes.ts';
import { type EngineTarget, startTarget } from './engine-target.ts';
import { gatusStartMs, gatusVersion, installGatus, startGatus } from './gatus.ts';
import { median } from './median.ts';
import { cpuSecondsOf, memoryOf } from './process-usage.ts';

const monitorCount = 1000;
const intervalMs = 60_000;
const measuredMs = 60_000;

/** Each monitor has its own address, because the engine limits the number of checks at once on one host. */
const numbers = Array.from({ length: monitorCount }, (_, index) => index + 1);
const addressOf = (number: number) => `127.1.${number >> 8}.${number & 255}`;
const nameOf = (number: number) => `monitor-${String(number).padStart(4, '0')}`;

/** These fail. They are spread over an interval, both in Gatus, which starts one after the other, and in Sitekeeper. */
const failing = numbers.filter((number) => number % 13 === 0).slice(0, 20);

type Name = 'worker' | 'serve' | 'gatus';

interface Contender {
  name: Name;
  label: string;
  running: RunningProcess;
  /** Processes of a database server, which are measured separately. */
  postmaster?: number;
}

/**
 * All run at the same time against one target. Together they need less than a core, and so each of them meets the same machine.
 * It takes six minutes: Gatus needs four until all its checks have started. Meanwhile monitors fail that have been checked before.
 */
export async function compareWithGatus(ownerUrl: string) {
  const gatusPath = await installGatus();
  if (!gatusPath) console.log('Gatus is not measured, because Go is not installed (neither on the PATH nor in /usr/local/go).');
  const folder = await mkdtemp(join(tmpdir(), 'sitekeeper-bench-'));
  const target = await startTarget();
  const receiver = await startReceiver(folder);
  const contenders: Contender[] = [];
  const monitored = async (name: Name) => {
    await mkdir(join(folder, name));
    const monitors = numbers.map((number) => ({ name: nameOf(number), url: `http://${addressOf(number)}:${target.port}/${name}` }));
    return { folder: join(folder, name), monitors, alerts: { url: `${receiver.url}/${name}`, authorityFile: receiver.authorityFile } };
  };
  try {
    console.error('starting the contenders …');
    const worker = await startWorker(ownerUrl, await monitored('worker'));
    contenders.push({ name: 'worker', label: 'worker on PostgreSQL', running: worker, postmaster: await postmasterOf(ownerUrl) });
    contenders.push({ name: 'serve', label: 'serve, embedded database', running: await startServe(await monitored('serve')) });
    if (gatusPath) {
      const { monitors, alerts } = await monitored('gatus');
      const [port = 0] = await reservePorts(1);
      const gatus = await startGatus(gatusPath, join(folder, 'gatus'), { port, monitors, alertUrl: alerts.url });
      contenders.push({ name: 'gatus', label: `Gatus ${gatusVersion}, in memory`, running: gatus });
    }
    const startedMs = performance.now();
    await delay(intervalMs + 5000);
    const detected = await measureDetection(target, receiver, contenders);
    const warmUpMs = intervalMs + (gatusPath ? gatusStartMs * monitorCount : 0);
    await delay(Math.max(0, startedMs + warmUpMs - performance.now()));
    report(contenders, await measureCpu(target, contenders), detected);
  } finally {
    for (const { running } of contenders) await stop(running);
    target.stop();
    await receiver.close();
    await rm(folder, { recursive: true });
  }
}

/** Receives alerts over TLS, and keeps when the first one about each monitor arrived. */
async function startReceiver(folder: string) {
  const authority = await createAuthority();
  const authorityFile = join(folder, 'authority.pem');
  await writeFile(authorityFile, authority.cert);
  const server = await startWebServer({ certificate: await authority.issue('localhost') });
  const arrivals = new Map<string, number>();
  server.script = ({ path, body }, response) => {
    const key = `${path}/${/monitor-\d+/.exec(body)?.[0]}`;
    if (!arrivals.has(key)) arrivals.set(key, performance.now());
    response.end('ok');
  };
  return { url: `https://localhost:${server.port}`, authorityFile, arrivals, close: () => server.close() };
}

/** Returns the times in seconds from the failure of each monitor to the alert. An alert that did not arrive is not included. */
async function measureDetection(target: EngineTarget, { arrivals }: { arrivals: Map<string, number> }, contenders: Contender[]) {
  console.error(`measuring the time until ${failing.length} alerts …`);
  target.fail(failing.map(addressOf));
  const failedMs = performance.now();
  while (arrivals.size < contenders.length * failing.length && performance.now() - failedMs < 4 * intervalMs) await delay(100);
  target.fail([]);
  const secondsOf = (name: Name) =>
    failing.flatMap((number) => ((arrivals.get(`/${name}/${nameOf(number)}`) ?? Number.NaN) - failedMs) / 1000).filter(Number.isFinite);
  return new Map(contenders.map(({ name }) => [name, secondsOf(name)]));
}

interface Cpu {
  checks: number;
  msPerCheck: number;
  postgresMsPerCheck: number | undefined;
}

/** Counts as a check what arrived at the target. */
async function measureCpu(target: EngineTarget, contenders: Contender[]): Promise<Map<Name, Cpu>> {
  console.error('measuring CPU time and memory …');
  const read = async ({ name, running, postmaster }: Contender) => ({
    checks: await target.count(`/${name}`),
    seconds: cpuSecondsOf(running.child.pid ?? 0),
    postgresSeconds: postmaster && cpuSecondsOf(postmaster),
  });
  const before = new Map<Name, Awaited<ReturnType<typeof read>>>();
  for (const contender of contenders) before.set(contender.name, await read(contender));
  await delay(measuredMs);
  const cpus = new Map<Name, Cpu>();
  for (const contender of contenders) {
    const start = before.get(contender.name);
    const { checks, seconds, postgresSeconds } = await read(contender);
    const done = checks - (start?.checks ?? 0);
    cpus.set(contender.name, {
      checks: done,
      msPerCheck: ((seconds - (start?.seconds ?? 0)) * 1000) / done,
      postgresMsPerCheck: postgresSeconds && ((postgresSeconds - (start?.postgresSeconds ?? 0)) * 1000) / done,
    });
  }
  return cpus;
}

function report(contenders: Contender[], cpus: Map<Name, Cpu>, detected: Map<Name, number[]>) {
  const rows = contenders.map(({ name, label, running }) => {
    const cpu = cpus.get(name);
    const seconds = detected.get(name) ?? [];
    const { megabytes, peakMegabytes } = memoryOf(running.child.pid ?? 0);
    const row = {
      checks: cpu?.checks,
      'CPU ms per check': round(cpu?.msPerCheck, 2),
      'of PostgreSQL': round(cpu?.postgresMsPerCheck, 2),
      'RSS, MB': round(megabytes, 0),
      'peak, MB': round(peakMegabytes, 0),
      'alert, s (median)': round(median(seconds), 1),
      'alert, s (maximum)': round(seconds.length > 0 ? Math.max(...seconds) : Number.NaN, 1),
      alerts: `${seconds.length} of ${failing.length}`,
    };
    return [label, row] as const;
  });
  const goal = { 'CPU ms per check': '<= 1.0', 'RSS, MB': '<= 120' };
  console.log(`${monitorCount} monitors, checked every ${intervalMs / 1000} s. Gatus alerts after three failures, as Sitekeeper does.`);
  console.table({ ...Object.fromEntries(rows), 'goal for the worker': goal });
}

function round(value: number | undefined, digits: number): number | undefined {
  return value === undefined ? undefined : Number(value.toFixed(digits));
}
